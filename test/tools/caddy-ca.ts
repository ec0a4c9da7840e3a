import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startDaemon } from './daemon.ts'

/** A real CA (Caddy's; tests use `requires('caddy-ca')`). */
export interface CaddyCa extends AsyncDisposable {
  /** Directory URL, for SLIPWAY_ACME_URL. */
  directory: string
  /** PEM file of the root, both of its HTTPS certificate and of issued certificates; for SLIPWAY_ACME_CA_FILE. */
  caFile: string
}

/**
 * Validates at ports 80 and 443 of the addresses in its own hosts file.
 */
export async function startCaddyCa(addresses: Record<string, string>): Promise<CaddyCa> {
  const daemon = await startDaemon({
    name: 'unshare',
    ports: 1,
    async prepare(folder, [port]) {
      const [hosts, caddyfile] = [join(folder, 'hosts'), join(folder, 'Caddyfile')]
      await writeFile(hosts, hostsFile({ localhost: '127.0.0.1', ...addresses }))
      await writeFile(caddyfile, configuration(folder, port!))
      const run = 'mount --bind "$1" /etc/hosts && exec caddy run --config "$2" --adapter caddyfile'
      return ['--mount', 'sh', '-c', run, 'sh', hosts, caddyfile]
    },
    isReady: (line) => line.includes('certificate obtained successfully'),
  })
  return {
    directory: `https://localhost:${daemon.ports[0]}/acme/local/directory`,
    caFile: join(daemon.folder, 'data/pki/authorities/local/root.crt'),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}

function hostsFile(addresses: Record<string, string>): string {
  const lines = Object.entries(addresses).map(([name, address]) => `${address} ${name}\n`)
  return lines.join('')
}

function configuration(folder: string, port: number): string {
  return `
{
	admin off
	auto_https disable_redirects
	skip_install_trust
	storage file_system ${folder}/data
	servers {
		protocols h1 h2
	}
}
https://localhost:${port} {
	bind 127.0.0.1
	tls internal
	acme_server
}
`
}
