/** One server-sent event. */
export interface ServerEvent {
  readonly name: string;
  readonly id: string | null;
  readonly data: string;
}

/** Largest event in characters. The archive sends no larger one, and an event must not fill the memory. */
const MAX_CHARS = 32 * 1_048_576;

/**
 * Parses server-sent events as in the HTML standard, section 9.2.6. `EventSource` cannot send a token; `fetch` can.
 * Throws when no byte arrives for `silenceMs` milliseconds: the connection is then broken.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  silenceMs: number,
): AsyncGenerator<ServerEvent, undefined> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let lines: string[] = [];
  try {
    for (;;) {
      const { value, done } = await within(reader.read(), silenceMs);
      if (done) return;
      const arrived = `${text}${value}`.split(/\r\n|\n|\r(?!$)/);
      text = arrived.pop() ?? '';
      if (text.length > MAX_CHARS) throw new Error('An event has no end.');
      for (const line of arrived) {
        if (line !== '') {
          lines.push(line);
          continue;
        }
        const event = eventOf(lines);
        lines = [];
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf(lines: readonly string[]): ServerEvent | null {
  let name = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of lines) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return data.length === 0 ? null : { name, id, data: data.join('\n') };
}

async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('Nothing came for too long.')), milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
