import type { Store } from '../store/store.ts'
import type { Answer } from './answer.ts'
import type { Asked } from './asked.ts'
import { hostName } from './host.ts'

const PREFIX = '/.well-known/acme-challenge/'

/** Whether a CA may be asking (RFC 8555, 8.3). */
export function isChallenge(path: string): boolean {
  return path.startsWith(PREFIX)
}

/** What it is to find; undefined when nothing of that name and token is being proven. */
export async function challengeAnswer(
  { read }: Store,
  { host, target }: Asked,
  now: number,
): Promise<Answer | undefined> {
  const token = target.path.slice(PREFIX.length)
  const rows = await read.authorities.challenge('http-01', hostName(host), now)
  const row = rows.find((one) => one.token === token)
  if (!row) return undefined
  const body = Buffer.from(row.key_authorization)
  const headers = ['Content-Type', 'application/octet-stream', 'Content-Length', String(body.length)]
  return { status: 200, headers: [...headers, 'Cache-Control', 'no-store'], body }
}
