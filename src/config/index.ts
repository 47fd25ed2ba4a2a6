export type { BackendSettings } from './backend-list.ts';
export { ConfigError } from './errors.ts';
export { addressWithoutCredentials, type Config, type ConfigSources, loadConfig } from './load-config.ts';
export { nodeCredentials } from './node-credentials.ts';
export { passedMethods } from './pass-through.ts';
export { type PeerSettings, peersOf } from './peer-list.ts';
export { addressWithCredentials, hasSecretFile } from './setting.ts';
export { nodeUrls, SETTING_NAMES, SETTINGS, type SettingName, type SettingValues } from './settings.ts';
export { type ShownSetting, showConfig } from './show-config.ts';
