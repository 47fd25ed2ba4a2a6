const RAW = 'application/octet-stream';
const TEXT = 'text/plain';

/** Only a client that names raw bytes gets them; wildcards and silence get the default. */
export function prefersRawBytes(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const qualities = new Map(accept.split(',').map(readMediaRange));
  const raw = qualities.get(RAW) ?? 0;
  return raw > 0 && raw >= (qualities.get(TEXT) ?? 0);
}

/** A quality that cannot be read counts as none given, which is 1. */
function readMediaRange(text: string): [mediaType: string, quality: number] {
  const [mediaType = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const quality = given === undefined || given === '' ? 1 : Number(given);
  return [mediaType, Number.isNaN(quality) ? 1 : quality];
}
