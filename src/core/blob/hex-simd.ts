/** hex-simd.wat, compiled by `wabt` 1.0.39; a test compiles it again and compares. */
export const HEX_SIMD_BASE64 =
  'AGFzbQEAAAABDwNgAXsBe2ABfwF/YAF/AAMFBAAAAQIFBAEBAgIHHAMGbWVtb3J5AgAGZGVjb2RlAAIGZW5jb2RlAAMKugIEMAAgAEHGAf0P/W5B' +
  'Bv0P/XNB8AH9D/1xIABB3wH9D/1OQcEA/Q/9cUEK/Q/9cP13CxIAIAAgAEEM/YsB/VBBCP2NAQtfAgJ/A3sCQANAIAEgAE8NASAB/QAEABAAIQMg' +
  'Af0ABBAQACEEIAUgAyAE/VD9UCEFIAIgAxABIAQQAf1m/QsEACABQSBqIQEgAkEQaiECDAALCyAFQfAB/Q/9Tv1TRQuTAQICfwR7/QwwMTIzNDU2' +
  'Nzg5YWJjZGVmIQYCQANAIAEgAE8NASAB/QAEgIAEIQMgBiADQQT9bf0OIQQgBiADQQ/9D/1O/Q4hBSACIAQgBf0NABABEQISAxMEFAUVBhYHF/0L' +
  'BAAgAiAEIAX9DQgYCRkKGgsbDBwNHQ4eDx/9CwQQIAFBEGohASACQSBqIQIMAAsLCw==';

interface HexModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  decode(length: number): number;
  encode(length: number): void;
}

// Neither the ES nor the Node declarations have WebAssembly, and the DOM's are not loaded.
declare const WebAssembly:
  | {
      validate(bytes: Uint8Array): boolean;
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object) => { readonly exports: HexModule };
    }
  | undefined;

/** Hex characters per call: text and bytes then stay in the processor's nearest caches. */
const WINDOW_CHARS = 32_768;
const PAGE_BYTES = 65_536;
const DECODE_STEP_CHARS = 32;
const ENCODE_STEP_BYTES = 16;

/** Hex by SIMD. Each function handles whole steps only and returns the number of characters or bytes it handled. */
export interface HexSimd {
  /** Decodes from the start of `text` into `target`. Returns -1 for a character that is no hex digit. */
  decodeInto(text: string | Uint8Array, target: Uint8Array): number;
  /** Encodes from the start of `bytes` into `target`, as lower-case ASCII. */
  encodeInto(bytes: Uint8Array, target: Uint8Array): number;
}

/**
 * Returns null without WebAssembly or its SIMD, or under a content security policy that forbids it. The table then
 * serves.
 */
export function loadHexSimd(): HexSimd | null {
  if (typeof WebAssembly === 'undefined') return null;
  try {
    const binary = Uint8Array.from(atob(HEX_SIMD_BASE64), (char) => char.charCodeAt(0));
    if (!WebAssembly.validate(binary)) return null;
    return overModule(new WebAssembly.Instance(new WebAssembly.Module(binary)).exports);
  } catch {
    return null;
  }
}

function overModule(module: HexModule): HexSimd {
  const memory = new Uint8Array(module.memory.buffer);
  const ascii = new TextEncoder();

  function load(text: string | Uint8Array, from: number, to: number): boolean {
    if (typeof text === 'string') {
      const { read, written } = ascii.encodeInto(text.slice(from, to), memory);
      return read === to - from && written === to - from;
    }
    memory.set(text.subarray(from, to));
    return true;
  }

  return {
    decodeInto(text, target) {
      const whole = text.length - (text.length % DECODE_STEP_CHARS);
      for (let from = 0; from < whole; from += WINDOW_CHARS) {
        const to = Math.min(from + WINDOW_CHARS, whole);
        if (!load(text, from, to) || module.decode(to - from) === 0) return -1;
        target.set(memory.subarray(0, (to - from) / 2), from / 2);
      }
      return whole;
    },
    encodeInto(bytes, target) {
      const whole = bytes.length - (bytes.length % ENCODE_STEP_BYTES);
      for (let from = 0; from < whole; from += WINDOW_CHARS / 2) {
        const to = Math.min(from + WINDOW_CHARS / 2, whole);
        memory.set(bytes.subarray(from, to), PAGE_BYTES);
        module.encode(to - from);
        target.set(memory.subarray(0, (to - from) * 2), from * 2);
      }
      return whole;
    },
  };
}
