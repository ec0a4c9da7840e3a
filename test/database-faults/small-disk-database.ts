import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { manifest } from '../operator/publisher.ts'
import { MIB } from '../support/units.ts'
import { UNPRIVILEGED_USER } from '../tools/daemon.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { mountSmallDisk, type SmallDisk } from '../tools/small-disk.ts'

/** A manifest of a size that does not fit into space that the tables have already. */
export const LARGE_MANIFEST = manifest(
  Object.fromEntries(Array.from({ length: 500 }, (_, number) => [`file-${number}.txt`, `${number}`])),
)

/** Publishes that fill the space that the tables have already. */
export const MAX_PUBLISHES = 100

/** A new database of the shared PostgreSQL whose tables are on a disk of their own: requires 'postgres', 'small-disk'. */
export async function databaseOnSmallDisk(
  stack: AsyncDisposableStack,
): Promise<{ disk: SmallDisk; url: string }> {
  const disk = stack.use(await mountSmallDisk(64 * MIB))
  const folder = join(disk.folder, 'tables')
  await mkdir(folder)
  if (UNPRIVILEGED_USER) await chown(folder, UNPRIVILEGED_USER.uid, UNPRIVILEGED_USER.gid)
  const server = await sharedPostgres()
  const { url, ...database } = await server.createDatabase()
  const name = new URL(url).pathname.slice(1)
  // All tests share the server.
  const space = `disk_of_${name}`
  await server.run(server.url(), `create tablespace ${space} location '${folder}'`)
  stack.defer(async () => {
    await database[Symbol.asyncDispose]()
    await server.run(server.url(), `drop tablespace ${space}`)
  })
  await server.run(server.url(), `alter database ${name} set tablespace ${space}`)
  return { disk, url }
}
