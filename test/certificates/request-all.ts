import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { type CaFixture, CONTENT } from './ca-fixture.ts'

const CONCURRENCY = 20

/**
 * Requests each name over HTTPS, trusting only the root of the CA. Returns the serial numbers of the certificates by
 * name; names that do not serve the site are reported and omitted.
 */
export async function requestAll(
  names: readonly string[],
  fixture: Pick<CaFixture, 'address' | 'root'>,
  report: (problem: string) => void,
): Promise<Map<string, string>> {
  const serials = new Map<string, string>()
  await forEachConcurrent(CONCURRENCY, names, async (name) => {
    try {
      serials.set(name, await open(name, fixture))
    } catch (error) {
      report(`HTTPS request failed: ${(error as Error).message}`)
    }
  })
  return serials
}

async function open(name: string, { address, root }: Pick<CaFixture, 'address' | 'root'>): Promise<string> {
  const outgoing = request({ ...address, servername: name, ca: root, agent: false, headers: { host: name } })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate()
  const body = await text(response)
  if (response.statusCode !== 200 || body !== CONTENT)
    throw new Error(`${response.statusCode} ${body.slice(0, 80)}`)
  return serialNumber
}
