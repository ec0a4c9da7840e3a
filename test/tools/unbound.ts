import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from './daemon.ts'

export interface Unbound extends AsyncDisposable {
  port: number
  /** `127.0.0.1:port`, as SLIPWAY_DNS_SERVERS takes it. */
  address: string
}

/**
 * A real resolver (Unbound; tests use `requires('unbound')`) that forwards queries for a zone to a port of 127.0.0.1,
 * without a cache.
 */
export async function startUnbound({ port, zone }: { port: number; zone: string }): Promise<Unbound> {
  const daemon = await startDaemon({
    name: 'unbound',
    ports: 1,
    async prepare(folder, [own]) {
      await writeFile(join(folder, 'unbound.conf'), configuration(folder, own!, port, zone))
      return ['-d', '-p', '-c', join(folder, 'unbound.conf')]
    },
    isReady: (line) => line.includes('start of service'),
  })
  return {
    port: daemon.ports[0]!,
    address: `127.0.0.1:${daemon.ports[0]}`,
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

function configuration(folder: string, own: number, port: number, zone: string): string {
  return `
server:
    directory: "${folder}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    logfile: ""
    verbosity: 1
    interface: 127.0.0.1@${own}
    port: ${own}
    so-reuseport: no
    num-threads: 1
    do-ip6: no
    module-config: "iterator"
    do-not-query-localhost: no
    local-zone: "${zone}." nodefault
    cache-max-negative-ttl: 0
    infra-host-ttl: 0
    msg-cache-size: 1m
    rrset-cache-size: 1m
stub-zone:
    name: "${zone}."
    stub-addr: 127.0.0.1@${port}
    stub-no-cache: yes
remote-control:
    control-enable: no
`
}
