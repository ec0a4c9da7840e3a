import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { startDaemon } from './daemon.ts'

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT' | 'NS' | 'CAA'

/**
 * A real authoritative server (Knot; tests use `requires('knot')`) with one zone, which tests change by dynamic updates
 * (RFC 2136). Changes are visible once their promise resolves. Names are absolute, without the final dot.
 */
export interface Knot extends AsyncDisposable {
  /** UDP and TCP port on 127.0.0.1. */
  port: number
  /** `127.0.0.1:port`, as SLIPWAY_DNS_SERVERS takes it. */
  address: string
  zone: string
  /** Replaces all records of a type at a name. TXT values are split into strings of 255 bytes. */
  set(name: string, type: RecordType, ...values: string[]): Promise<void>
  add(name: string, type: RecordType, ...values: string[]): Promise<void>
  /** Removes the records of a type, or all at the name. */
  remove(name: string, type?: RecordType): Promise<void>
}

/** TTL of zero, so that resolvers do not cache records. */
const TTL = 0

export async function startKnot(zone = 'test'): Promise<Knot> {
  const daemon = await startDaemon({
    name: 'knotd',
    ports: 1,
    async prepare(folder, [port]) {
      await mkdir(join(folder, 'db'))
      await writeFile(join(folder, 'zone.db'), emptyZone(zone))
      await writeFile(join(folder, 'knot.conf'), configuration(folder, zone, port!))
      return ['-c', join(folder, 'knot.conf')]
    },
    isReady: (line) => line.includes('server started'),
  })
  const port = daemon.ports[0]!
  const updates = new Updates(port, zone)
  const update = (lines: string[]) => updates.make(lines)
  const added = (name: string, type: RecordType, values: string[]) =>
    values.map((value) => `update add ${name}. ${TTL} ${type} ${type === 'TXT' ? quoted(value) : value}`)
  return {
    port,
    address: `127.0.0.1:${port}`,
    zone,
    set: (name, type, ...values) => update([`update delete ${name}. ${type}`, ...added(name, type, values)]),
    add: (name, type, ...values) => update(added(name, type, values)),
    remove: (name, type = undefined) => update([`update delete ${name}. ${type ?? ''}`]),
    async [Symbol.asyncDispose]() {
      updates[Symbol.dispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
}

/** A process of nsupdate, which makes one update after another. */
class Updates implements Disposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #output: AsyncIterator<string>
  #last: Promise<void> = Promise.resolve()

  constructor(port: number, zone: string) {
    this.#child = spawn('nsupdate', ['-t', '10'], { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child.stdin.write(`server 127.0.0.1 ${port}\nzone ${zone}.\n`)
    this.#output = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  make(lines: string[]): Promise<void> {
    const update = this.#last.then(() => this.#send(lines))
    this.#last = update.catch(() => undefined)
    return update
  }

  async #send(lines: string[]): Promise<void> {
    this.#child.stdin.write([...lines, 'send', 'answer', ''].join('\n'))
    for (let status = ''; status !== 'NOERROR'; ) {
      const { value: line, done } = await this.#output.next()
      status = /opcode: UPDATE, status: (\w+)/.exec(line ?? '')?.[1] ?? ''
      if (done || (status !== '' && status !== 'NOERROR'))
        throw new Error(`nsupdate: ${status || 'it has ended'}\n${lines.join('\n')}`)
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }
}

function quoted(text: string): string {
  const strings = text.match(/[\s\S]{1,255}/g) ?? ['']
  return strings.map((one) => `"${one.replaceAll(/["\\]/g, '\\$&')}"`).join(' ')
}

function emptyZone(zone: string): string {
  return [
    `$ORIGIN ${zone}.`,
    `@ ${TTL} IN SOA ns hostmaster 1 60 60 60 0`,
    `@ ${TTL} IN NS ns`,
    `ns ${TTL} IN A 127.0.0.1`,
    '',
  ].join('\n')
}

function configuration(folder: string, zone: string, port: number): string {
  return `
server:
    listen: 127.0.0.1@${port}
    rundir: "${folder}/db"
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "${folder}/db"
log:
  - target: stderr
    any: info
acl:
  - id: updates
    address: 127.0.0.1
    action: update
zone:
  - domain: ${zone}
    storage: "${folder}"
    file: "zone.db"
    acl: updates
    zonefile-sync: -1
    zonefile-load: difference-no-serial
    journal-content: all
`
}
