import { connect } from 'node:http2'
import { program } from '../../scripts/program.mjs'
import type { Request } from '../serving/request.ts'
import type { MeasuredServer, Runner } from '../serving/rounds.ts'
import { loaded } from '../serving/wrk.ts'

export const H2_CONNECTIONS = 16
export const H2_STREAMS = 32

interface H2Work {
  request: Request
  /** Expected body of every response. */
  body: Buffer
  core: number
}

/**
 * Runs h2load over HTTP/2. The response is verified first, and a run counts only with complete responses of
 * that length.
 */
export async function byH2load(server: MeasuredServer, { request, body, core }: H2Work): Promise<Runner> {
  await inspect(server, request, body)
  const { port, pid } = server
  const authority = `${server.secureName}:${port}`
  return async (seconds) => {
    const command = [
      program('h2load')!,
      ...['-t1', `-c${H2_CONNECTIONS}`, `-m${H2_STREAMS}`, `-D${seconds}`, `--connect-to=127.0.0.1:${port}`],
      ...fields(request).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      `https://${authority}${request.path}`,
    ]
    const { text, cores, waiting } = await loaded(command, pid, core)
    const { done, perSecond } = summaryIn(text, body.length)
    if (done === 0) return undefined
    return { perSecond, seconds, cores, ...(waiting === undefined ? {} : { waiting }) }
  }
}

/** Headers without pseudo-headers and connection headers (RFC 9113, 8.2.2 and 8.3.1). */
function fields({ headers }: Request) {
  return headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => name !== 'host' && name !== 'connection')
}

async function inspect(
  { port, secureName }: MeasuredServer,
  request: Request,
  wanted: Buffer,
): Promise<void> {
  const session = connect(`https://127.0.0.1:${port}`, { servername: secureName, rejectUnauthorized: false })
  try {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: Buffer }>()
    const stream = session.request({
      ':path': request.path,
      ':authority': `${secureName}:${port}`,
      ...Object.fromEntries(fields(request)),
    })
    let status = 0
    const chunks: Buffer[] = []
    stream.on('response', (headers) => {
      status = headers[':status']!
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => resolve({ status, body: Buffer.concat(chunks) }))
    for (const one of [session, stream]) one.on('error', reject)
    const reply = await promise
    if (reply.status !== 200) throw new Error(`over HTTP/2 its status is ${reply.status}, not 200`)
    if (!reply.body.equals(wanted)) throw new Error('over HTTP/2 its body is another one')
  } finally {
    session.destroy()
  }
}

function summaryIn(text: string, length: number): { done: number; perSecond: number } {
  const perSecond = Number(/^finished in [\d.]+m?s, ([\d.]+) req\/s/m.exec(text)?.[1])
  const counts = /^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/m.exec(text)
  const bytes = Number(/\((\d+)\) data$/m.exec(text)?.[1])
  if (!counts || Number.isNaN(perSecond) || Number.isNaN(bytes))
    throw new Error(`h2load did not end as it should:\n${text}`)
  const [done, ...wrong] = counts.slice(1).map(Number)
  const partly = bytes - done! * length
  const max = H2_CONNECTIONS * H2_STREAMS * length
  if (wrong.some((count) => count > 0) || partly < 0 || partly > max)
    throw new Error(`h2load saw other answers than 200 of ${length} bytes:\n${text}`)
  return { done: done!, perSecond }
}
