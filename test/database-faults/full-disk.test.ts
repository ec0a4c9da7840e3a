import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { Publisher } from '../operator/publisher.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { nodeSettings } from './node-settings.ts'
import { databaseOnSmallDisk, LARGE_MANIFEST, MAX_PUBLISHES } from './small-disk-database.ts'

test(
  'on a full disk of PostgreSQL publishing is refused as such, sites are served, and space that is freed ends it',
  requires('postgres', 'small-disk'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const { disk, url } = await databaseOnSmallDisk(stack)
    const settings = { ...(await nodeSettings(url)), ANONYMOUS_FILES: `${LARGE_MANIFEST.length}` }
    const service = stack.use(await startTestService(settings))
    const publisher = stack.use(new Publisher(service))
    const site = (await publisher.publish({ 'index.html': 'hello' })).slug
    await disk.fill()
    const publishUntilFull = async () => {
      for (let count = 0; count < MAX_PUBLISHES; count++)
        await publisher.client.create({ files: LARGE_MANIFEST })
    }
    await assert.rejects(publishUntilFull, (error) => isSlipwayError(error, 'INSUFFICIENT_STORAGE'))
    assert.equal((await sendRequest(service.port, { site })).text, 'hello')
    await disk.clear()
    assert.ok((await publisher.client.create({ files: LARGE_MANIFEST })).slug)
  },
)
