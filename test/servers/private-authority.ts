import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWhere } from '../promised.ts';
import { answers } from './command.ts';

export interface PrivateAuthority {
  readonly certFile: string;
  readonly keyFile: string;
  remove(): void;
}

/** A suite that makes certificates. */
export const describeWithOpenssl = describeWhere(answers('openssl', ['version']), 'openssl is not installed');

/** A certificate that no client trusts unless it is told to, valid for a day. `name`: of its server, as `IP:…` or `DNS:…`. */
export function privateAuthority(name = 'IP:127.0.0.1'): PrivateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=holdfast test', '-addext', `subjectAltName=${name}`, '-days', '1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' });
  return { certFile, keyFile, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
