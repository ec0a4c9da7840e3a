import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../server-process.ts'
import { type Files, PATHS, publishSite, writeFolder } from '../serving/content.ts'
import type { MeasuredServer } from '../serving/rounds.ts'
import { freePort, SERVER_CORE, type ServerName } from '../serving/server.ts'
import { startCaddy, startNginx } from './peers.ts'
import { seedNames } from './seed.ts'

/** The site's name on all servers. */
const NAME = 'www.bench.test'

/** A server with the port for resumption. */
export interface SecureServer extends MeasuredServer {
  secureName: string
  resumingPort: number
}

/** All servers with the same file, chain and key, running and idle. */
export interface Stage extends AsyncDisposable {
  servers: ReadonlyMap<ServerName, SecureServer>
  page: Buffer
  names: readonly string[]
  /** Another process of the service over the same store. */
  another(environment?: Record<string, string>): Promise<SecureService>
}

export interface SecureService extends ServerProcess {
  securePort: number
  name: string
}

/** Publishes through the SDK, inserts `count` names with certificates into the store and starts the peers. */
export async function setStage(folder: string, count: number): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const data = join(folder, 'data')
  const secret = randomBytes(32).toString('hex')
  const page = randomBytes(4096)
  const files: Files = new Map([[PATHS.plain, { contentType: 'text/html; charset=utf-8', bytes: page }]])
  const slug = await published(data, secret, files)
  console.error(`making ${count} certificates`)
  const names = Array.from({ length: count }, (_, index) => `site-${index}.bench.test`)
  const { chain, key } = await seedNames({ data, secret, slug, names: [NAME, ...names] })
  const place = {
    site: join(folder, 'site'),
    name: NAME,
    chain: join(folder, 'chain.pem'),
    key: join(folder, 'key.pem'),
  }
  writeFolder(place.site, files)
  writeFileSync(place.chain, chain)
  writeFileSync(place.key, key, { mode: 0o600 })
  const another = (environment?: Record<string, string>) => startSecurely(data, secret, environment)
  const ours = stack.use(await another())
  const nginx = stack.use(await startNginx({ ...place, own: join(folder, 'nginx') }))
  const caddy = stack.use(await startCaddy({ ...place, own: join(folder, 'caddy') }))
  const opened = stack.move()
  return {
    servers: new Map([
      asked('ours', { pid: ours.pid, port: ours.securePort, resumingPort: ours.securePort }),
      asked('nginx', nginx),
      asked('Caddy', caddy),
    ]),
    page,
    names,
    another,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function asked(
  name: ServerName,
  { pid, port, resumingPort }: Pick<SecureServer, 'pid' | 'port' | 'resumingPort'>,
) {
  const one: SecureServer = {
    name,
    pid,
    port,
    resumingPort,
    sitesPort: port,
    secureName: NAME,
    host: `${NAME}:${port}`,
  }
  return [name, one] as const
}

async function published(data: string, secret: string, files: Files): Promise<string> {
  await using service = await startServer(data, { settings: { SECRET: secret } })
  return await publishSite(service.baseUrl, files)
}

/** Without a CA and DNS. */
async function startSecurely(
  data: string,
  secret: string,
  environment: Record<string, string> = {},
): Promise<SecureService> {
  const securePort = await freePort()
  const settings = {
    SECRET: secret,
    HTTPS_PORT: String(securePort),
    ACME_URL: 'https://127.0.0.1:1/directory',
    DNS_SERVERS: '127.0.0.1:1',
  }
  const service = await startServer(data, { core: SERVER_CORE, settings, environment })
  return { ...service, securePort, name: NAME }
}
