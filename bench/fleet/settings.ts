import { freePort } from '../../test/tools/port.ts'

/** Settings of a node, as environment variables without `SLIPWAY_`; its folder is not among them. */
export async function nodeSettings(databaseUrl: string): Promise<Record<string, string>> {
  const port = await freePort()
  return {
    DATABASE_URL: databaseUrl,
    SECRET: 'a secret of this measurement, long enough',
    SMTP_URL: 'smtp://127.0.0.1:1',
    BASE_URL: `http://localhost:${port}`,
    PORT: `${port}`,
  }
}
