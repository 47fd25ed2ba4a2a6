/** Reports whether the environment names a proxy for such an address. `NO_PROXY` is applied later. */
export function proxyIsNamed(url: URL): boolean {
  const names = url.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  return names.some((name) => (process.env[name] ?? process.env[name.toLowerCase()] ?? '') !== '');
}
