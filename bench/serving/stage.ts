import { join } from 'node:path'
import { type ServerProcess, startServer } from '../server-process.ts'
import { coldFiles } from './cold.ts'
import { type Files, publishSite, siteFiles, writeFolder } from './content.ts'
import { type SeededSite, seedSites, writeSites } from './many-sites.ts'
import { startCaddy, startNginx, startNodePeer } from './peers.ts'
import type { MeasuredServer } from './rounds.ts'
import { SERVER_CORE, type ServerName } from './server.ts'

/** Amount of content. */
export interface Scale {
  /** Sites in the store, and those that are requested. */
  sites: number
  requested: number
  coldFiles: number
}

/** All servers with the same content, running and idle. */
export interface Stage extends AsyncDisposable {
  servers: ReadonlyMap<ServerName, MeasuredServer>
  service: ServerProcess
  /** The service's data folder. */
  data: string
  files: Files
  coldPaths: string[]
  sites: SeededSite[]
}

/** Fills the store and the folders, publishes through the SDK and starts the peers. */
export async function setStage(folder: string, scale: Scale): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const data = join(folder, 'data')
  console.error(`making ${scale.sites} sites`)
  const sites = await seedSites(data, { sites: scale.sites, distinct: scale.requested })
  const folders = { site: join(folder, 'site'), sites: join(folder, 'sites') }
  writeSites(folders.sites, sites)
  const cold = coldFiles(scale.coldFiles)
  const files = siteFiles()
  const all = new Map([...files, ...cold])
  writeFolder(folders.site, all)
  const service = stack.use(await startServer(data, { core: SERVER_CORE }))
  const slug = await publishSite(service.baseUrl, all)
  const nginx = stack.use(await startNginx({ ...folders, own: join(folder, 'nginx') }))
  const caddy = stack.use(await startCaddy({ ...folders, own: join(folder, 'caddy') }))
  const sirv = stack.use(await startNodePeer('sirv', { ...folders, own: folder }))
  const handler = stack.use(await startNodePeer('serve-handler', { ...folders, own: folder }))
  const port = Number(new URL(service.baseUrl).port)
  const host = `${slug}.localhost:${port}`
  const toEntry = (name: ServerName, one: { pid: number; port: number; sitesPort?: number }) =>
    [name, { name, host, pid: one.pid, port: one.port, sitesPort: one.sitesPort ?? one.port }] as const
  const opened = stack.move()
  return {
    servers: new Map([
      toEntry('ours', { pid: service.pid, port }),
      toEntry('nginx', nginx),
      toEntry('Caddy', caddy),
      toEntry('sirv', sirv),
      toEntry('serve-handler', handler),
    ]),
    service,
    data,
    files,
    coldPaths: [...cold.keys()],
    sites,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
