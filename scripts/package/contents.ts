import { type Module, NODE_MODULE } from './modules.ts'
import { listFolder, type PackageFile } from './package-file.ts'
import { listTracked } from './release.ts'

/** What no program reads when it runs. */
const DEVELOPMENT_FILES = /\.(?:d\.[cm]?ts|map|tsbuildinfo)$|\/(?:CHANGELOG|README)\.md$/i

/** Folders of packages with their own tests and examples. */
const DEVELOPMENT_FOLDERS = /\/(?:tests?|__tests__|examples?|benchmarks?|\.github)\//

/** The program, at the paths of the project: sources of the server, built parts, packages, and Node as `bin/node`. */
export function listProgram(modules: readonly Module[]): PackageFile[] {
  const sources = listTracked(
    'server',
    'packages',
    'protocol',
    'client/bin',
    'client/package.json',
    'LICENSE',
  )
  return [
    ...[...sources, 'dashboard/style/tokens.css']
      .filter((path) => !path.endsWith('.d.ts') && !DEVELOPMENT_FOLDERS.test(path))
      .map((path) => ({ path, from: path })),
    // The sources of modules are of the type of this package, where none is nearer.
    { path: 'package.json', from: { content: '{ "private": true, "type": "module" }\n' } },
    ...['server/store/dist', 'server/web/dist', 'client/dist', 'dashboard/dist'].flatMap((folder) =>
      listFolder(folder, (path) => !path.endsWith('.d.ts')),
    ),
    ...modules.flatMap(({ path }) => (path === NODE_MODULE ? [] : listFolder(path, isNeeded))),
    { path: 'bin/node', from: `${NODE_MODULE}/bin/node` },
    { path: 'bin/node.LICENSE', from: `${NODE_MODULE}/LICENSE` },
  ]
}

/**
 * The guides, and what they refer to: units, alerts, configurations of proxies, hooks, templates of CI. Of what git knows
 * only, because `deploy/.env` has secrets.
 */
export function listGuides(): PackageFile[] {
  return listTracked('docs', 'deploy', 'action')
    .filter((path) => !path.startsWith('docs/') || path.endsWith('.md'))
    .map((path) => ({ path, from: path }))
}

function isNeeded(path: string): boolean {
  const inModule = path.slice(path.lastIndexOf('node_modules/'))
  return !DEVELOPMENT_FILES.test(inModule) && !DEVELOPMENT_FOLDERS.test(inModule)
}
