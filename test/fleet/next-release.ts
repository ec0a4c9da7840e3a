import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { migrations } from '../../server/store/migrate.ts'

const root = join(import.meta.dirname, '..', '..')

const MIGRATION = `import type { Kysely } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('sites').addColumn('of_the_next_release', 'integer').execute()
}
`

/** A copy of this tree with one more migration, which alters the table of sites beside nodes of this release. */
export async function createNextRelease(): Promise<{ root: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-release-'))
  for (const part of ['server', 'protocol', 'client', 'dashboard', 'packages', 'scripts', 'package.json'])
    await cp(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => basename(path) !== 'node_modules',
    })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { name: newest } = migrations.at(-1)!
  await writeFile(join(folder, 'server/store/migrations/999-next-release.ts'), MIGRATION)
  const list = join(folder, 'server/store/migrate.ts')
  const step = `{ name: '999-next-release', compatibleWith: '${newest}', up: nextRelease.up }`
  const known = 'export const migrations:'
  const text = await readFile(list, 'utf8')
  if (!text.includes(known)) throw new Error('server/store/migrate.ts has another form')
  await writeFile(
    list,
    `import * as nextRelease from './migrations/999-next-release.ts'
${text.replace(known, 'const released:')}
export const migrations: readonly Migration[] = [...released, ${step}]
`,
  )
  return { root: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
