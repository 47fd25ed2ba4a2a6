export declare const NODE_FLAGS: readonly string[];
export declare const MALLOC_ENVIRONMENT: Readonly<Record<string, string>>;
