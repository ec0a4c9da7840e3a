/** Settings that a node needs beside its ports and its folder, as environment variables without `SLIPWAY_`. */
export function nodeSettings(databaseUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    SECRET: 'a secret of this measurement, long enough',
    SMTP_URL: 'smtp://127.0.0.1:1',
  }
}
