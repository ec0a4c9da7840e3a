import { PATHS } from '../serving/content.ts'
import { browserRequest, type Request } from '../serving/request.ts'
import { byWrk, type Driven } from '../serving/rounds.ts'
import type { ServerName } from '../serving/server.ts'
import { identity } from '../serving/works.ts'
import { byH2load, H2_CONNECTIONS, H2_STREAMS } from './h2load.ts'
import { byHandshakes } from './handshakes.ts'
import type { SecureServer } from './stage.ts'

const SERVERS: readonly ServerName[] = ['ours', 'nginx', 'Caddy']
const PATH = `/${PATHS.plain}`

interface Means {
  page: Buffer
  /** For scripts. */
  folder: string
  core: number
}

/** All rows, which shall be 10 % faster than on 2026-11-21: requests on persistent connections, and connections with one request. */
export function secureWorks({ page, folder, core }: Means): Driven[] {
  const request = (host: string): Request => browserRequest(PATH, host)
  const handshakes = (
    asked: Pick<Driven, 'id' | 'name' | 'reach'>,
    version: 'TLSv1.2' | 'TLSv1.3',
    resume: boolean,
  ): Driven => ({
    ...asked,
    servers: SERVERS,
    byCpuTime: true,
    ready(server) {
      const { port, resumingPort } = server as SecureServer
      const work = { path: PATH, bytes: page.length, resume, version, core }
      return byHandshakes(server, { ...work, port: resume ? resumingPort : port })
    },
  })
  return [
    byWrk(
      {
        id: 'h1',
        name: '4 kB over HTTP/1.1, browser',
        servers: SERVERS,
        load: ({ host }) => ({ requests: [request(host)] }),
        wrong: identity(page),
        reach: { nginx: 1.03, caddy: 3 },
      },
      { folder, core },
    ),
    {
      id: 'h2',
      name: `4 kB over HTTP/2, browser, ${H2_CONNECTIONS} connections of ${H2_STREAMS} streams`,
      servers: SERVERS,
      ready: (server) => byH2load(server, { request: request(server.host), body: page, core }),
      reach: { nginx: 3.06, caddy: 4 },
      byCpuTime: true,
    },
    handshakes({ id: 'full', name: 'full handshakes, TLS 1.3', reach: { nginx: 0.7 } }, 'TLSv1.3', false),
    handshakes(
      { id: 'resumed', name: 'resumed handshakes, TLS 1.3', reach: { nginx: 0.87 } },
      'TLSv1.3',
      true,
    ),
    handshakes(
      { id: 'resumed2', name: 'resumed handshakes, TLS 1.2', reach: { nginx: 0.5 } },
      'TLSv1.2',
      true,
    ),
  ]
}
