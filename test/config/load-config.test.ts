import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Config, ConfigError, type ConfigSources, loadConfig, showConfig } from '../../src/config/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

function load(sources: Partial<ConfigSources> = {}): Config {
  return loadConfig({ env: {}, flags: {}, file: undefined, cwd: temporaryFolder(), ...sources });
}

/** The error that loading throws for an unusable configuration. */
function refusal(sources: Partial<ConfigSources>): ConfigError {
  try {
    load(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('The configuration was accepted.');
}

function fileWith(text: string): string {
  const path = join(temporaryFolder(), 'holdfast.yaml');
  writeFileSync(path, text);
  return path;
}

const inEnv = (name: string, value: string) => refusal({ env: { [name]: value } }).message;

describe('the source of a value', () => {
  test('without any source the defaults apply, which listen on this machine only', () => {
    const { values, origins, file } = load();
    expect(values).toMatchObject({ dataDir: './data', nodeUrl: null, httpHost: '127.0.0.1', httpPort: 8_080 });
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
    expect(file).toBeNull();
  });

  test('a flag overrides the environment, the environment the file, the file the default', () => {
    const file = fileWith('http:\n  port: 1001\n  host: 0.0.0.0\nlog:\n  level: debug\n');
    const env = { HOLDFAST_HTTP_PORT: '1002', HOLDFAST_HTTP_HOST: '127.0.0.2' };
    const { values, origins } = load({ file, env, flags: { '--http-port': '1003' } });
    expect(values).toMatchObject({ httpPort: 1003, httpHost: '127.0.0.2', logLevel: 'debug', dataDir: './data' });
    expect(origins).toMatchObject({ httpPort: 'flag', httpHost: 'environment', logLevel: 'file', dataDir: 'default' });
  });

  test('HOLDFAST_CONFIG names a file, --config overrides it, and JSON is accepted', () => {
    const one = fileWith('{"http": {"port": 1001}}');
    const two = fileWith('http: {port: 1002}');
    expect(load({ env: { HOLDFAST_CONFIG: one } }).values.httpPort).toBe(1001);
    expect(load({ env: { HOLDFAST_CONFIG: one }, file: two }).values.httpPort).toBe(1002);
  });

  test('an empty file and an empty variable set nothing', () => {
    expect(load({ file: fileWith(''), env: { HOLDFAST_HTTP_PORT: '' } }).values.httpPort).toBe(8_080);
  });

  test('the loaded configuration is immutable', () => {
    const { values } = load();
    expect(Object.isFrozen(values)).toBe(true);
  });
});

describe('a size or a duration', () => {
  test.each([
    ['HOLDFAST_LOCAL_BYTES', '50GB', 'localBytes', 50_000_000_000],
    ['HOLDFAST_LOCAL_BYTES', '2.3 GB', 'localBytes', 2_300_000_000],
    ['HOLDFAST_LOCAL_BYTES', '512MiB', 'localBytes', 536_870_912],
    ['HOLDFAST_HTTP_CACHE_BYTES', '0', 'httpCacheBytes', 0],
    ['HOLDFAST_REPLICAS_BYTES_PER_SECOND', '20MB', 'replicasBytesPerSecond', 20_000_000],
    ['HOLDFAST_NODE_POLL_MS', '2s', 'nodePollMs', 2_000],
    ['HOLDFAST_NODE_SWEEP_MS', '1.5s', 'nodeSweepMs', 1_500],
    ['HOLDFAST_HEARTBEAT_SECONDS', '6h', 'heartbeatSeconds', 21_600],
    ['HOLDFAST_STOP_SECONDS', '25000ms', 'stopSeconds', 25],
  ] as const)('%s takes %s', (name, given, setting, value) => {
    expect(load({ env: { [name]: given } }).values[setting]).toBe(value);
  });

  test('a file takes them as text', () => {
    const file = fileWith('local:\n  bytes: 50GB\nheartbeat:\n  seconds: 5m\n');
    expect(load({ file }).values).toMatchObject({ localBytes: 50_000_000_000, heartbeatSeconds: 300 });
  });
});

describe('an invalid value', () => {
  test.each([
    ['HOLDFAST_HTTP_PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['HOLDFAST_HTTP_PORT', '80a', 'must be a whole number from 0 to 65535'],
    ['HOLDFAST_HTTP_PORT', '-1', 'must be a whole number from 0 to 65535'],
    ['HOLDFAST_HTTP_PORT', '1e3', 'must be a whole number from 0 to 65535'],
    [
      'HOLDFAST_NODE_POLL_MS',
      '99',
      'must be from 100 to 60000 milliseconds: a whole number, or a duration like 500ms or 2s',
    ],
    ['HOLDFAST_NODE_POLL_MS', '2h', 'must be from 100 to 60000 milliseconds'],
    ['HOLDFAST_NODE_POLL_MS', '0.5ms', 'must be from 100 to 60000 milliseconds'],
    [
      'HOLDFAST_LOCAL_BYTES',
      '50gb',
      'must be from 1048576 to 562949953421312 bytes: a whole number, or a size like 50GB or 512MiB',
    ],
    [
      'HOLDFAST_HEARTBEAT_SECONDS',
      '500ms',
      'must be from 1 to 86400 seconds: a whole number, or a duration like 90s or 6h',
    ],
    ['HOLDFAST_NODE_SWEEP_MS', '499', 'must be from 500 to 300000 milliseconds'],
    ['HOLDFAST_NODE_REQUESTS', '0', 'must be a whole number from 1 to 16'],
    ['HOLDFAST_LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
    ['HOLDFAST_NODE_DIALECT', 'syscoin-6', 'must be one of auto, svc, syscoin-4.2, syscoin-4.4, syscoin-5'],
    ['HOLDFAST_NODE_URL', 'localhost:8370', 'must be an http:// or https:// address'],
    ['HOLDFAST_NODE_URL', 'ftp://localhost', 'must be an http:// or https:// address'],
    ['HOLDFAST_NODE_URL', 'http://a:1 b:1', 'must be an http:// or https:// address'],
  ])('%s=%s is reported in one sentence', (name, value, says) => {
    const message = inEnv(name, value);
    expect(message).toContain(`${name} ${says}`);
    expect(message).toContain(`it is ${JSON.stringify(value)}`);
    expect(message.split('\n')).toHaveLength(1);
  });

  test('an address with a query is refused, and the message leaves the query out', () => {
    expect(inEnv('HOLDFAST_NODE_URL', 'http://localhost/?key=abc')).toBe(
      'HOLDFAST_NODE_URL must not have a query or a fragment (it is "http://localhost/?***").',
    );
  });

  test('a value in a file is reported with its key and the file', () => {
    const file = fileWith('http:\n  port: many\n');
    expect(refusal({ file }).message).toContain(`http.port in ${file} must be a whole number`);
  });

  test('a flag is reported by its name', () => {
    expect(refusal({ flags: { '--log-level': 'loud' } }).message).toContain('--log-level must be one of');
  });

  test('a value of the wrong type in a file is refused, not converted', () => {
    expect(refusal({ file: fileWith('dataDir: [1, 2]') }).message).toContain('dataDir');
    expect(refusal({ file: fileWith('http: {port: 1.5}') }).message).toContain('http.port');
    expect(refusal({ file: fileWith('dataDir:') }).message).toContain('dataDir');
  });

  test('one error reports every problem', () => {
    const env = { HOLDFAST_HTTP_PORT: 'x', HOLDFAST_LOG_LEVEL: 'x', HOLDFAST_WHAT: 'x' };
    const error = refusal({ env });
    expect(error.code).toBe('config/invalid');
    expect(error.details['problems']).toHaveLength(3);
    expect(error.message.split('\n')).toHaveLength(3);
  });
});

describe('an unknown name', () => {
  test('an unknown variable is refused with a suggestion', () => {
    expect(inEnv('HOLDFAST_NODE_URI', 'http://a')).toContain(
      'The environment variable HOLDFAST_NODE_URI is not known to this version (did you mean HOLDFAST_NODE_URL?).',
    );
  });

  test.each([
    ['HOLDFAST_LOGLEVEL', 'HOLDFAST_LOG_LEVEL'],
    ['HOLDFAST_HTTP_PROT', 'HOLDFAST_HTTP_PORT'],
    ['HOLDFAST_DATADIR', 'HOLDFAST_DATA_DIR'],
    ['HOLDFAST_NODE_PASWORD', 'HOLDFAST_NODE_PASSWORD'],
    ['HOLDFAST_NODE_USERNAME', 'HOLDFAST_NODE_USER'],
  ])('%s gets the suggestion %s', (wrong, right) => {
    expect(inEnv(wrong, 'x')).toContain(`(did you mean ${right}?)`);
  });

  test('an unknown key in the file is refused with a suggestion', () => {
    const file = fileWith('http:\n  prot: 80\n');
    expect(refusal({ file }).message).toContain(`The key http.prot in ${file} is not known`);
    expect(refusal({ file }).message).toContain('(did you mean http.port?)');
  });

  test('a name that resembles no setting gets no suggestion', () => {
    expect(inEnv('HOLDFAST_QUUX', 'x')).not.toContain('did you mean');
  });

  test('variables of other programs are ignored', () => {
    expect(() => load({ env: { HTTP_PORT: 'x', PATH: 'y' } })).not.toThrow();
  });
});

describe('the configuration file', () => {
  test('a missing file is reported with its path', () => {
    const error = refusal({ file: 'nowhere.yaml' });
    expect(error).toMatchObject({ code: 'config/unreadable-file', hint: expect.stringContaining('--config') });
    expect(error.message).toContain('nowhere.yaml');
  });

  test.each([
    'node:\n  password: "hunter2\n  url: x\n',
    'node:\n  password: hunter2: x\n',
    'node:\n  password: !hunter2 x\n',
    'node:\n  password: hunter2\n  password: hunter2\n',
  ])('invalid YAML is reported with its place and without its content: %j', (text) => {
    const error = refusal({ file: fileWith(text) });
    expect(error.code).toBe('config/unreadable-file');
    expect(error.message).toMatch(/line \d+/);
    expect(error.message).not.toContain('hunter2');
  });

  test('a YAML alias in place of a value is reported without its text', () => {
    const error = refusal({ file: fileWith('node: {password: *hunter2}') });
    expect(error.message).toContain('alias');
    expect(error.message).not.toContain('hunter2');
  });
});

describe('secrets', () => {
  const PASSWORD = 'correct horse';
  const shown = (config: Config) => JSON.stringify(showConfig(config).map(({ value }) => value));

  test('a password comes from the environment, a secret file or the configuration file', () => {
    const path = fileWith(`${PASSWORD}\n`);
    expect(load({ env: { HOLDFAST_NODE_PASSWORD: PASSWORD } }).values.nodePassword).toBe(PASSWORD);
    expect(load({ env: { HOLDFAST_NODE_PASSWORD_FILE: path } })).toMatchObject({
      values: { nodePassword: PASSWORD },
      origins: { nodePassword: 'secret file' },
    });
    expect(load({ file: fileWith(`node: {password: ${PASSWORD}}`) }).values.nodePassword).toBe(PASSWORD);
  });

  test('a secret from two sources is refused', () => {
    const env = { HOLDFAST_NODE_PASSWORD: PASSWORD, HOLDFAST_NODE_PASSWORD_FILE: fileWith('x') };
    expect(refusal({ env }).message).toContain('are both set');
    expect(refusal({ env }).message).not.toContain(PASSWORD);
  });

  test('an unreadable secret file is reported with its variable', () => {
    expect(inEnv('HOLDFAST_NODE_PASSWORD_FILE', '/nowhere/secret')).toContain(
      'HOLDFAST_NODE_PASSWORD_FILE cannot be read',
    );
  });

  test('an empty secret file gives no password', () => {
    expect(inEnv('HOLDFAST_NODE_PASSWORD_FILE', fileWith('\n'))).toContain(
      'HOLDFAST_NODE_PASSWORD_FILE must not be empty',
    );
  });

  test('only secrets, and addresses with credentials, accept a secret file', () => {
    expect(inEnv('HOLDFAST_S3_ENDPOINT_FILE', 'x')).toContain('HOLDFAST_S3_ENDPOINT_FILE is not known');
    const path = fileWith('http://me:secret@host:1\n');
    const config = load({ env: { HOLDFAST_NODE_URL_FILE: path, HOLDFAST_IPFS_API_URL_FILE: path } });
    expect(config).toMatchObject({
      values: { nodeUrl: 'http://me:secret@host:1', ipfsApiUrl: 'http://me:secret@host:1' },
      origins: { nodeUrl: 'secret file', ipfsApiUrl: 'secret file' },
    });
    expect(shown(config)).not.toContain('secret@');
  });

  test.each([
    ['HOLDFAST_S3_ENDPOINT', 'http://me:secret@host:1', 'must not carry user and password'],
    ['HOLDFAST_ARCHIVER_URL', 'http://me:secret@host:1', 'must not carry user and password'],
    ['HOLDFAST_NODE_URL', 'http://me:secret%@host:1', 'must have user and password percent-encoded'],
    ['HOLDFAST_IPFS_API_URL', 'http://me:secret%@host:1', 'must have user and password percent-encoded'],
  ])('%s=%s is refused, because its credentials would be ignored', (name, value, says) => {
    expect(inEnv(name, value)).toContain(`${name} ${says}`);
    expect(inEnv(name, value)).not.toContain('secret');
  });

  test('showConfig masks the password and names its source', () => {
    const config = load({ env: { HOLDFAST_NODE_PASSWORD: PASSWORD } });
    expect(shown(config)).not.toContain(PASSWORD);
    expect(showConfig(config)).toContainEqual({
      key: 'node.password',
      env: 'HOLDFAST_NODE_PASSWORD',
      value: '***',
      origin: 'environment',
    });
  });

  test.each([
    'http://me:secret@host:1/',
    'http://me:sec/ret@host:1/',
    'http://me:sec@ret@host:1/',
    'http://secret@host/',
  ])('showConfig masks everything before the host of %s', (url) => {
    try {
      expect(shown(load({ env: { HOLDFAST_NODE_URL: url } }))).not.toMatch(/sec|ret/);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.message).not.toMatch(/sec|ret@/);
    }
  });

  test.each([
    ['me:secret@host:1', 'it has no scheme'],
    ['http//me:secret@host:1', 'it lacks a colon'],
    ['http://me:secret@host:port', 'its port is no number'],
    ['http://me:se/cret@host:1', 'its password has a slash'],
    ['ftp://me:secret@host', 'another scheme'],
    ['http://me:secret@a,ftp://me:secret@b', 'two of them'],
    ['http://me:secret@host/?secret=secret', 'a query'],
  ])('the refusal of %s leaves its password out (%s)', (url) => {
    expect(inEnv('HOLDFAST_NODE_URL', url)).not.toMatch(/secret|se\/cret/);
  });

  test('the refusal of a secret leaves its value out', () => {
    const file = fileWith('node:\n  password: 12345678\n');
    expect(refusal({ file }).message).toContain('node.password');
    expect(refusal({ file }).message).not.toContain('12345678');
  });
});
