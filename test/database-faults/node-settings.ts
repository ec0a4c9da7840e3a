import { freePort } from '../tools/port.ts'

/** The settings of a node of this database. */
export async function nodeSettings(databaseUrl: string): Promise<Record<string, string>> {
  const port = await freePort()
  return {
    DATABASE_URL: databaseUrl,
    SECRET: 'a secret of all nodes of this test',
    SMTP_URL: 'smtp://127.0.0.1:1',
    PORT: `${port}`,
    BASE_URL: `http://localhost:${port}`,
  }
}
