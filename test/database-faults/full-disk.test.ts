import assert from 'node:assert/strict'
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { manifest, Publisher } from '../operator/publisher.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { MIB } from '../support/units.ts'
import { UNPRIVILEGED_USER } from '../tools/daemon.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { nodeSettings } from './node-settings.ts'

/** A publish with a manifest of a size that does not fit into space that the tables have already. */
const FILES = manifest(
  Object.fromEntries(Array.from({ length: 500 }, (_, number) => [`file-${number}.txt`, `${number}`])),
)

/** Publishes that fill the space that the tables have already. */
const MAX_PUBLISHES = 100

test(
  'on a full disk of PostgreSQL publishing is refused as such, sites are served, and space that is freed ends it',
  requires('postgres', 'small-disk'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const disk = stack.use(await mountSmallDisk(64 * MIB))
    const folder = join(disk.folder, 'tables')
    await mkdir(folder)
    if (UNPRIVILEGED_USER) await chown(folder, UNPRIVILEGED_USER.uid, UNPRIVILEGED_USER.gid)
    const server = await sharedPostgres()
    const { url, ...database } = await server.createDatabase()
    const name = new URL(url).pathname.slice(1)
    await server.run(server.url(), `create tablespace small location '${folder}'`)
    stack.defer(async () => {
      await database[Symbol.asyncDispose]()
      await server.run(server.url(), 'drop tablespace small')
    })
    await server.run(server.url(), `alter database ${name} set tablespace small`)
    const settings = { ...(await nodeSettings(url)), ANONYMOUS_FILES: `${FILES.length}` }
    const service = stack.use(await startTestService(settings))
    const publisher = stack.use(new Publisher(service))
    const site = (await publisher.publish({ 'index.html': 'hello' })).slug
    await disk.fill()
    const publishUntilFull = async () => {
      for (let count = 0; count < MAX_PUBLISHES; count++) await publisher.client.create({ files: FILES })
    }
    await assert.rejects(publishUntilFull, (error) => isSlipwayError(error, 'INSUFFICIENT_STORAGE'))
    assert.equal((await sendRequest(service.port, { site })).text, 'hello')
    await disk.clear()
    assert.ok((await publisher.client.create({ files: FILES })).slug)
  },
)
