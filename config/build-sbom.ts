import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

/**
 * A step of the image: reads the list that `npm sbom` makes from standard input and writes the image's own (CycloneDX). It
 * leaves out the number and the time, so that two builds of one commit give the same list. It adds the library of Debian that
 * the image carries besides. The first argument is a file with its package, version and architecture, the second the library.
 */

const list = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
const words = z.tuple([z.string().min(1), z.string().regex(/^\d/), z.string().min(1)]);

const [packageFile = '', library = ''] = process.argv.slice(2);
const [name, version, architecture] = words.parse(readFileSync(packageFile, 'utf8').trim().split(' '));
const { serialNumber, ...made } = list.parse(await json(process.stdin));
const { timestamp, ...metadata } = made.metadata;

const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
const debian = {
  'bom-ref': `${name}@${version}`,
  type: 'library',
  name,
  version,
  scope: 'required',
  purl,
  // The hash of the file that is loaded: the package itself does not come along.
  hashes: [{ alg: 'SHA-512', content: createHash('sha512').update(readFileSync(library)).digest('hex') }],
  licenses: [{ license: { id: 'BSD-2-Clause' } }],
};
const root = metadata.component['bom-ref'];
const dependencies = made.dependencies.map((one) =>
  one.ref === root ? { ...one, dependsOn: [...one.dependsOn, debian['bom-ref']] } : one,
);
const own = {
  ...made,
  metadata,
  components: [...made.components, debian],
  dependencies: [...dependencies, { ref: debian['bom-ref'], dependsOn: [] }],
};
process.stdout.write(`${JSON.stringify(own, null, 2)}\n`);
