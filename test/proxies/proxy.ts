import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { FOREVER, Issuer } from '../certificates/issuer.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { type Daemon, startDaemon } from '../tools/daemon.ts'
import { type Changes, readRecipe } from './recipe.ts'

/** A custom domain with a certificate. */
export const DOMAIN = 'www.example.test'

export type ProxyName = 'caddy' | 'nginx' | 'haproxy'

/** A proxy with the configuration of deploy/edge in front of a real service. */
export interface RunningProxy extends AsyncDisposable {
  service: RunningService
  httpPort: number
  httpsPort: number
  /** PEM of the root certificates. */
  root: string
}

interface Ports {
  folder: string
  http: number
  https: number
  service: number
  internal: number
}

interface Recipe {
  file: string
  isReady(line: string): boolean
  args(configuration: string): string[]
  changes(ports: Ports): Changes
  /** Contents of the files of a certificate, by their endings; by default `crt` and `key`. */
  certificateFiles?(chain: string, key: string): Record<string, string>
}

const RECIPES: Record<ProxyName, Recipe> = {
  caddy: {
    file: 'Caddyfile',
    isReady: (line) => line.includes('serving initial configuration'),
    args: (configuration) => ['run', '--config', configuration, '--adapter', 'caddyfile'],
    changes: ({ folder, http, https, service, internal }) => [
      ['127.0.0.1:8081', `127.0.0.1:${internal}`],
      ['/etc/slipway/tls/sites.example', `${folder}/tls/sites.test`],
      ['*.sites.example', '*.sites.test'],
      ['127.0.0.1:8080', `127.0.0.1:${service}`],
      [
        '{\n\ton_demand_tls',
        `{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port ${http}\n\thttps_port ${https}\n\tdefault_bind 127.0.0.1\n\tstorage file_system ${folder}/data\n\ton_demand_tls`,
      ],
    ],
  },
  nginx: {
    file: 'nginx.conf',
    isReady: (line) => line.includes('start worker process '),
    args: (file) => ['-c', file, '-e', 'stderr', '-g', 'daemon off; error_log stderr notice;'],
    changes: ({ folder, http, https, service }) => [
      ['127.0.0.1:8080', `127.0.0.1:${service}`],
      ['worker_processes auto;', 'worker_processes 1; user root;'],
      ['listen 80 default_server;\n    listen [::]:80 ', `listen 127.0.0.1:${http} `],
      ['listen 443 ssl http2 default_server;\n    listen [::]:443 ', `listen 127.0.0.1:${https} `],
      ['http {\n', `http {\n${nginxFolders(folder)}`],
      ['/run/nginx.pid', `${folder}/nginx.pid`],
      ['/etc/slipway/tls/$certificate.crt', `${folder}/tls/$certificate.crt`],
      ['/etc/slipway/tls/$certificate.key', `${folder}/tls/$certificate.key`],
      ['/var/lib/slipway-acme', `${folder}/acme`],
      ['    slipway.example slipway.example;', '    localhost localhost;'],
      ['*.sites.example sites.example', '*.sites.test sites.test'],
    ],
  },
  haproxy: {
    file: 'haproxy.cfg',
    isReady: (line) => line.includes('Loading success'),
    args: (configuration) => ['-W', '-db', '-f', configuration],
    changes: ({ folder, http, https, service }) => [
      ['127.0.0.1:8080', `127.0.0.1:${service}`],
      ['bind :80', `bind 127.0.0.1:${http}`],
      ['bind :443', `bind 127.0.0.1:${https}`],
      ['crt /etc/slipway/tls/ ', `crt ${folder}/tls/ `],
    ],
    certificateFiles: (chain, key) => ({ pem: chain + key }),
  },
}

export async function startProxy(name: ProxyName, settings: Record<string, string>): Promise<RunningProxy> {
  const recipe = RECIPES[name]
  await using started = new AsyncDisposableStack()
  let service!: RunningService
  let root!: string
  const daemon = started.use(
    await startDaemon({
      name,
      ports: 2,
      async prepare(folder, [http, https]) {
        // The settings that deploy/README.md names.
        const given = { BASE_URL: `https://localhost:${https}`, SITE_DOMAIN: 'sites.test' }
        const proxied = { TRUSTED_PROXIES: '1', INTERNAL_PORT: '0' }
        service = started.use(await startTestService({ ...given, ...proxied, ...settings }))
        root = await writeCertificates(folder, recipe)
        const ports = { http: http!, https: https!, service: service.port }
        const changes = recipe.changes({ folder, ...ports, internal: service.service.internalPort! })
        const configuration = join(folder, recipe.file)
        await writeFile(configuration, readRecipe(recipe.file, changes))
        return recipe.args(configuration)
      },
      isReady: recipe.isReady,
    }),
  )
  const [httpPort, httpsPort] = daemon.ports as [number, number]
  if (name === 'caddy') {
    root += await caddyRoot(daemon)
    while ((await handshake(httpsPort, root)) === 'CERT_NOT_YET_VALID');
  }
  const owned = started.move()
  return { service, httpPort, httpsPort, root, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function writeCertificates(
  folder: string,
  { certificateFiles = (crt, key) => ({ crt, key }) }: Recipe,
): Promise<string> {
  const issuer = await Issuer.create()
  await mkdir(join(folder, 'tls'))
  for (const [name, names] of [
    ['localhost', ['localhost']],
    ['sites.test', ['*.sites.test']],
    [DOMAIN, [DOMAIN]],
  ] as const) {
    const { chain, key } = await issuer.issueWithKey({ names, ...FOREVER })
    for (const [ending, text] of Object.entries(certificateFiles(chain, key))) {
      await writeFile(join(folder, 'tls', `${name}.${ending}`), text)
    }
  }
  return issuer.root
}

/** Temporary folders of nginx, because Debian's belong to root. */
function nginxFolders(folder: string): string {
  const names = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return names.map((name) => `${name}_temp_path ${folder}/${name};\n`).join('')
}

/**
 * The error code of a handshake for localhost, if it fails. Caddy has just issued that certificate, and OpenSSL's clock, which
 * the kernel updates once a tick, may still be in the second before.
 */
function handshake(port: number, ca: string): Promise<string | undefined> {
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca })
  return new Promise<string | undefined>((resolve) => {
    socket.once('secureConnect', () => resolve(undefined))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
  }).finally(() => socket.destroy())
}

function caddyRoot({ folder }: Daemon): Promise<string> {
  return readFile(join(folder, 'data/pki/authorities/local/root.crt'), 'utf8')
}
