import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { connect, createSecureContext } from 'node:tls'
import { readMemory } from '../server-process.ts'
import type { Line } from '../serving/figures.ts'
import type { SecureService } from './stage.ts'

/**
 * Handshakes of one name before the first memory sample: as many as follow, since a service grows with
 * handshakes of any name.
 */
const WARM_UP = 10_000
const PAIRS = 300
const CONCURRENCY = 8

/** Handshakes of cold and warm names in turn, and the memory of all of them. */
export async function manyNames(service: SecureService, names: readonly string[]): Promise<Line[]> {
  const { securePort, pid, name } = service
  await requestAll(
    securePort,
    Array.from({ length: WARM_UP }, () => name),
  )
  await pause(1000)
  const before = await readMemory(pid, 'VmRSS')
  const { cold, warm } = await inPairs(securePort, names.slice(0, PAIRS), name)
  await requestAll(securePort, names.slice(PAIRS))
  await pause(1000)
  const added = (await readMemory(pid, 'VmRSS')) - before
  const later = cold.map((milliseconds, index) => milliseconds - warm[index]!)
  const many = names.length.toLocaleString('en')
  return [
    { what: `memory added by ${many} certificates, all requested`, unit: 'MB', rounds: [added], max: 100 },
    { what: 'handshake for a name without an earlier request', unit: 'ms', rounds: cold },
    { what: 'handshake for a name with an earlier request', unit: 'ms', rounds: warm },
    { what: 'delay of the first compared with the second, by pair', unit: 'ms', rounds: later, max: 3 },
  ]
}

async function inPairs(port: number, names: readonly string[], known: string) {
  const cold: number[] = []
  const warm: number[] = []
  let last = known
  for (const [index, name] of names.entries()) {
    if (index % 2 === 0) warm.push(await handshake(port, last))
    cold.push(await handshake(port, name))
    if (index % 2 === 1) warm.push(await handshake(port, last))
    last = name
  }
  return { cold, warm }
}

async function requestAll(port: number, names: readonly string[]): Promise<void> {
  const queue = [...names]
  const worker = async () => {
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) await handshake(port, name)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

const context = createSecureContext({ minVersion: 'TLSv1.3' })

/** Milliseconds of a full handshake; rejects when the certificate is for another name. */
async function handshake(port: number, name: string): Promise<number> {
  const started = performance.now()
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: name,
    secureContext: context,
    rejectUnauthorized: false,
  })
  await once(socket, 'secureConnect')
  const milliseconds = performance.now() - started
  const { subjectaltname } = socket.getPeerCertificate()
  socket.end()
  await once(socket.resume(), 'close')
  if (subjectaltname !== `DNS:${name}`) throw new Error(`${name} got the certificate of ${subjectaltname}`)
  return milliseconds
}
