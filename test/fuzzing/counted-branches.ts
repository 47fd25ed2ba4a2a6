import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

/** Name of the global map from files to their branches: 1 for each branch that has run. */
export const BRANCHES = 'holdfastBranches';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A plugin of Vite for long searches: each branch of the product's code notes that it runs. */
export const countedBranches = {
  name: 'counted branches',
  enforce: 'pre' as const,
  transform(code: string, id: string): string | null {
    const file = relative(ROOT, id);
    const isOurs = /^src\/[^?]+\.ts$/.test(file) && !code.startsWith('#!');
    return isOurs ? withCountedBranches(code, file) : null;
  },
};

type Tree = Readonly<Record<string, unknown>>;

/** Returns the code, in the same lines, with a note at the beginning of each branch. */
export function withCountedBranches(code: string, file: string): string {
  const added: { readonly at: number; readonly text: string }[] = [];
  const add = (at: unknown, text: string) => added.push({ at: Number(at), text });
  let count = 0;
  const note = () => {
    count += 1;
    return `ran$[${count - 1}]=1`;
  };

  function expression(tree: Tree): void {
    add(tree['start'], `(${note()},`);
    walk(tree);
    add(tree['end'], ')');
  }

  function statement(tree: Tree): void {
    if (tree['type'] === 'BlockStatement') {
      add(Number(tree['start']) + 1, `${note()};`);
      walk(tree);
    } else {
      add(tree['start'], `{${note()};`);
      walk(tree);
      add(tree['end'], '}');
    }
  }

  function walk(tree: Tree): void {
    const [first] = tree['type'] === 'SwitchCase' && Array.isArray(tree['consequent']) ? tree['consequent'] : [];
    // Declarations of a case are there for all of it: no braces.
    if (isTree(first)) add(first['start'], `${note()};`);
    for (const [field, value] of Object.entries(tree)) {
      for (const child of Array.isArray(value) ? value : [value]) {
        if (!isTree(child)) continue;
        const kind = kindOf(tree, field, child);
        if (kind === null) walk(child);
        else (kind === 'expression' ? expression : statement)(child);
      }
    }
    if (tree['type'] === 'IfStatement' && tree['alternate'] === null) add(tree['end'], `else{${note()};}`);
  }

  const program: unknown = parseAst(code, { lang: 'ts' });
  if (isTree(program)) walk(program);
  const pieces: string[] = [];
  let from = 0;
  // Nested branches may begin or end at the same place: a stable sort keeps them nested.
  for (const { at, text } of added.toSorted((one, other) => one.at - other.at)) {
    pieces.push(code.slice(from, at), text);
    from = at;
  }
  const map = `globalThis.${BRANCHES}??=new Map()`;
  const own = `const ran$=new Uint8Array(${count});(${map}).set(${JSON.stringify(file)},ran$);`;
  return `${own}${pieces.join('')}${code.slice(from)}`;
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && 'type' in value;

/** Tells whether a part of the code runs only at times. */
function kindOf(around: Tree, field: string, part: Tree): 'expression' | 'statement' | null {
  switch (around['type']) {
    case 'ConditionalExpression':
      return field === 'test' ? null : 'expression';
    case 'LogicalExpression':
      return field === 'right' ? 'expression' : null;
    case 'IfStatement':
      return field === 'test' ? null : 'statement';
    case 'ArrowFunctionExpression':
      if (field !== 'body') return null;
      return part['type'] === 'BlockStatement' ? 'statement' : 'expression';
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'CatchClause':
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
      return field === 'body' ? 'statement' : null;
    default:
      return null;
  }
}
