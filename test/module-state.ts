import ts from 'typescript-api';

/** Kinds of things that can be changed after they were made. */
const CHANGEABLE = /^(Map|Set|WeakMap|WeakSet|LRUCache|Notifier|ArrayBuffer|DataView|\w+Array|Buffer)$/;
/** Methods that change the thing they are called on. */
const CHANGING =
  /^(set\w*|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|write\w*|copy|append|increment)$/;

/**
 * Names of what a module keeps and changes after it was loaded: each `let` and `var`, and each changeable constant that
 * some function writes to. A table that is only filled while its module loads is none.
 */
export function moduleState(text: string): string[] {
  const source = ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest);
  const declared = source.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) =>
    declarationList.declarations.flatMap(({ name, initializer }) => {
      if (!ts.isIdentifier(name)) return [];
      const isConstant = (declarationList.flags & ts.NodeFlags.Const) !== 0;
      return !isConstant || isChangeable(initializer) ? [{ name: name.text, isConstant }] : [];
    }),
  );
  const written = new Set<string>();
  visit(source, false, (node, isInFunction) => {
    if (isInFunction) for (const name of writtenBy(node)) written.add(name);
  });
  return declared.filter(({ name, isConstant }) => !isConstant || written.has(name)).map(({ name }) => name);
}

function isChangeable(made: ts.Expression | undefined): boolean {
  if (made === undefined) return true;
  if (ts.isArrayLiteralExpression(made) || ts.isObjectLiteralExpression(made)) return true;
  if (ts.isCallExpression(made)) {
    const called = made.expression;
    return ts.isPropertyAccessExpression(called) ? isChangeable(called.expression) : false;
  }
  if (ts.isIdentifier(made)) return CHANGEABLE.test(made.text);
  return ts.isNewExpression(made) && ts.isIdentifier(made.expression) && CHANGEABLE.test(made.expression.text);
}

/** `kept.set(…)`, `kept[1] = …`, `kept.of = …`, `kept.count += 1`, `delete kept.of`, `kept++`. */
function writtenBy(node: ts.Node): string[] {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    return CHANGING.test(node.expression.name.text) ? rootOf(node.expression.expression) : [];
  }
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
    return isAssignment ? rootOf(node.left) : [];
  }
  if (ts.isDeleteExpression(node)) return rootOf(node.expression);
  return ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node) ? rootOf(node.operand) : [];
}

/** The variable that an access begins with: `kept` of `kept.one[2]`. */
function rootOf(place: ts.Expression): string[] {
  if (ts.isIdentifier(place)) return [place.text];
  if (ts.isPropertyAccessExpression(place) || ts.isElementAccessExpression(place)) return rootOf(place.expression);
  return [];
}

function visit(node: ts.Node, isInFunction: boolean, look: (node: ts.Node, isInFunction: boolean) => void): void {
  look(node, isInFunction);
  const isInside = isInFunction || ts.isFunctionLike(node);
  ts.forEachChild(node, (child) => visit(child, isInside, look));
}
