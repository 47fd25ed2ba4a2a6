import ts from 'typescript-api';
import type { SourceFile } from './source-files.ts';

/** An interface whose only role is to hand a class or a function what it works with. */
export interface HandedOver {
  readonly path: string;
  readonly name: string;
  /** Properties whose types can do something: classes, interfaces with methods, functions. */
  readonly services: number;
}

/** A constructor, with the number of things that can do something among its parameters. */
export interface Built {
  readonly path: string;
  readonly services: number;
}

const NAMED_FOR_IT = /(Modules|Parts|Deps|Dependencies|Needs|Requirements|Services|Collaborators)$/;
/** From so many on, an object of services is one of parts, whatever its name is. */
const FEWEST = 3;
/** Types that stand for a service wherever they occur in another type. */
const ELSEWHERE = ['Pick', 'Omit', 'Logger'];

/** All objects of parts, and all constructors, judged by what their types can do. */
export function handedOver(files: readonly SourceFile[]): { objects: readonly HandedOver[]; built: readonly Built[] } {
  const parsed = files
    .filter(({ path }) => path.endsWith('.ts'))
    .map(({ path, text }) => ({ path, source: ts.createSourceFile(path, text, ts.ScriptTarget.Latest) }));
  const shapes = parsed.flatMap(({ path, source }) => source.statements.flatMap((one) => shapeIn(path, one)));
  const services = new Set([
    ...ELSEWHERE,
    ...parsed.flatMap(({ source }) => source.statements.flatMap(classIn)),
    ...shapes.filter(({ members }) => members.some(canBeCalled)).map(({ name }) => name),
  ]);
  // A value that carries services is one itself: three of them under one name are still handed over.
  for (let known = -1; known < services.size; ) {
    known = services.size;
    for (const { name, members } of shapes) {
      if (members.some((one) => ts.isPropertySignature(one) && one.type !== undefined && namesOf(one.type, services)))
        services.add(name);
    }
  }
  const isService = (type: ts.TypeNode | undefined) => type !== undefined && namesOf(type, services);
  const taken = new Set<string>();
  const built: Built[] = [];
  for (const { path, source } of parsed) {
    visit(source, (node) => {
      if (!ts.isConstructorDeclaration(node) && !isFactory(node)) return;
      for (const { type } of node.parameters) {
        if (type !== undefined) for (const name of referencesIn(type)) taken.add(name);
      }
      if (ts.isConstructorDeclaration(node)) {
        built.push({ path, services: node.parameters.filter(({ type }) => isService(type)).length });
      }
    });
  }
  const objects = shapes.flatMap(({ path, name, members }) => {
    const count = members.filter((member) => ts.isPropertySignature(member) && isService(member.type)).length;
    const isOfParts = members.every(ts.isPropertySignature) && count >= FEWEST && count * 2 > members.length;
    return (taken.has(name) && isOfParts) || (NAMED_FOR_IT.test(name) && count > 0)
      ? [{ path, name, services: count }]
      : [];
  });
  return { objects, built };
}

interface Shape {
  readonly path: string;
  readonly name: string;
  readonly members: readonly ts.TypeElement[];
}

function shapeIn(path: string, node: ts.Statement): Shape[] {
  if (ts.isInterfaceDeclaration(node)) return [{ path, name: node.name.text, members: node.members }];
  if (!ts.isTypeAliasDeclaration(node)) return [];
  const literals = ts.isIntersectionTypeNode(node.type) ? node.type.types : [node.type];
  const members = literals.flatMap((type) => (ts.isTypeLiteralNode(type) ? [...type.members] : []));
  return members.length === 0 ? [] : [{ path, name: node.name.text, members }];
}

function isFactory(node: ts.Node): node is ts.FunctionDeclaration {
  return ts.isFunctionDeclaration(node) && /^(create|open|start|make)[A-Z]/.test(node.name?.text ?? '');
}

function classIn(node: ts.Statement): string[] {
  return ts.isClassDeclaration(node) && node.name !== undefined ? [node.name.text] : [];
}

function canBeCalled(member: ts.TypeElement): boolean {
  return (
    ts.isMethodSignature(member) ||
    (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type))
  );
}

function namesOf(type: ts.TypeNode, services: ReadonlySet<string>): boolean {
  let found = false;
  visit(type, (node) => {
    if (ts.isFunctionTypeNode(node)) found = true;
    if (ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName) && services.has(node.typeName.text))
      found = true;
    if (ts.isTypeLiteralNode(node) && node.members.some(canBeCalled)) found = true;
  });
  return found;
}

function referencesIn(type: ts.TypeNode): string[] {
  const names: string[] = [];
  visit(type, (node) => {
    if (ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName)) names.push(node.typeName.text);
  });
  return names;
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}
