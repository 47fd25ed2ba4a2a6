import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_OURS = new Set(['node_modules', 'dist', 'data', 'coverage', 'test-output', '.git']);

export interface Markdown {
  /** From the top of the repository. */
  readonly path: string;
  readonly text: string;
}

function markdownIn(folder: string): Markdown[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : markdownIn(path);
    return entry.name.endsWith('.md') ? [{ path: relative(ROOT, path), text: readFileSync(path, 'utf8') }] : [];
  });
}

/** Every page of documentation in the repository. */
export const PAGES: readonly Markdown[] = markdownIn(ROOT);

/** The blocks of shell in a page. */
export function shellBlocks({ text }: Markdown): string[] {
  return [...text.matchAll(/^```(?:sh|bash|shell|console)\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** Placeholders as words of the shell: `<version hash>` is no redirection. */
export function filledIn(block: string): string {
  return block.replaceAll(/<[a-z][^<>\n]*>/gi, 'PLACEHOLDER');
}

/** The commands of a block: continued lines joined, comments gone, pipes and lists taken apart, variables before them dropped. */
export function commandsOf(block: string): string[][] {
  return filledIn(block)
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, ''))
    .flatMap((line) => line.split(/\s(?:\||\|\||&&|;)\s/))
    .map((command) => wordsOf(command))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word))))
    .filter((words) => words.length > 0 && words[0] !== '');
}

function wordsOf(command: string): string[] {
  const words = [...command.matchAll(/(?:'[^']*'|"(?:\\.|[^"])*"|[^\s'"])+/g)].map(([word]) => word);
  return words
    .slice(0, words.findIndex((word) => /^\d?>/.test(word)) >>> 0)
    .map((word) => word.replaceAll(/['"]/g, ''));
}
