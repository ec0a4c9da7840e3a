import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { concat, padding, tarHeader } from '../protocol/tar.ts'
import { root } from './root.mjs'

// `node scripts/pack-client.ts FOLDER` packs the client compiled in FOLDER into FOLDER/package.tar, an npm package. The
// service adds the file that names its URL, and the end of the tar. The same sources always make the same bytes.

const folder = process.argv[2]!
// Only the server runs the schemas of the API, and it has the lists for administrators.
const compiled = globSync('{cli,client,protocol}/**/*.{js,d.ts}', {
  cwd: folder,
  exclude: [
    'protocol/api/admin/**',
    'protocol/api/operations.schema.d.ts',
    'client/sdk/operation.d.ts',
    'protocol/api/**/*.schema.js',
    'protocol/api/schema.js',
  ],
}).sort()
const files = [
  ['package.json', join(root, 'client', 'package.json')],
  ['README.md', join(root, 'client', 'README.md')],
  ['LICENSE', join(root, 'LICENSE')],
  ['bin/slipway.js', join(root, 'client', 'bin', 'slipway.js')],
  ...compiled.map((name) => [`dist/${name}`, join(folder, name)]),
] as const
const entries = files.flatMap(([name, source]) => {
  const bytes = readFileSync(source)
  return [tarHeader(`package/${name}`, bytes.length), bytes, padding(bytes.length)]
})
writeFileSync(join(folder, 'package.tar'), concat(entries))
