import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { type CaFixture, CONTENT } from './ca-fixture.ts'

const AT_ONCE = 20

/**
 * Opens each name over HTTPS, trusting the root of the CA alone. Answers the serial numbers of the certificates by name; those
 * that do not show the site are left out and reported.
 */
export async function openAll(
  names: readonly string[],
  fixture: Pick<CaFixture, 'address' | 'root'>,
  tell: (problem: string) => void,
): Promise<Map<string, string>> {
  const serials = new Map<string, string>()
  await forEachConcurrent(AT_ONCE, names, async (name) => {
    try {
      serials.set(name, await open(name, fixture))
    } catch (error) {
      tell(`could not be opened: ${(error as Error).message}`)
    }
  })
  return serials
}

async function open(name: string, { address, root }: Pick<CaFixture, 'address' | 'root'>): Promise<string> {
  const asked = request({ ...address, servername: name, ca: root, agent: false, headers: { host: name } })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const { serialNumber } = (answer.socket as TLSSocket).getPeerCertificate()
  const body = await text(answer)
  if (answer.statusCode !== 200 || body !== CONTENT)
    throw new Error(`${answer.statusCode} ${body.slice(0, 80)}`)
  return serialNumber
}
