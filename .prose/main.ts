// Checks the words of what covered.yaml lists, or of the files that are given. Exit code 1: something was found.
import { checkProse, coveredFiles } from './check-prose.ts';

const given = process.argv.slice(2);
const findings = await checkProse(given.length > 0 ? given : coveredFiles());
for (const { path, line, column, rule, message } of findings) {
  process.stderr.write(`${path}:${line}:${column}: ${message} (${rule})\n`);
}
if (findings.length > 0) {
  process.stderr.write(`${findings.length} places are not in plain words. .prose/README.md explains the rules.\n`);
  process.exitCode = 1;
}
