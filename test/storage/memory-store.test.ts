import { MemoryStore, pathOf } from './memory-store.ts';
import { describeObjectStore } from './object-store-conformance.ts';

describeObjectStore('a toy in memory', ['blob', 'custom', 'record', 'evidence', 'binding', 'mark'], async () => {
  const store = new MemoryStore('memory');
  const overwrite = async (key: Parameters<typeof pathOf>[0], bytes: Uint8Array) => {
    store.objects.set(pathOf(key), bytes);
  };
  return { store, overwrite };
});
