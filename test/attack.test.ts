import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Bytes } from '../client/sdk/slipway.ts'
import type { CreateAnswer } from '../client/wire.ts'
import { Api, blobFolder, refused } from './api/api.ts'
import { noise } from './edge-fixture.ts'

// What one client can do to all others: each of these took something that it should not have had.

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a client that leaves', () => {
  for (const method of ['GET', 'HEAD']) {
    for (const path of ['files/b.bin', 'archive']) {
      test(`at any stage of ${method} ${path} leaves no file open`, async (t) => {
        if (!existsSync('/proc/self/fd')) return t.skip('open files cannot be counted here')
        const { client, key } = await api.account()
        const { slug } = await api.publish(client, { 'a.bin': noise(1000), 'b.bin': noise(300_000) })
        const head = `${method} /api/v1/publish/${slug}/${path} HTTP/1.1\r\nHost: localhost\r\n`
        for (let turns = 0; turns < 80; turns++) {
          const socket = await send(`${head}Authorization: Bearer ${key}\r\n\r\n`)
          for (let left = turns; left > 0; left--) await turn()
          socket.destroy()
        }
        await until(() => openBlobs() === 0)
      })
    }
  }
})

describe('the disk holds each file of a version once', () => {
  for (const size of [1000, 300_000]) {
    test(`however often one of ${size} bytes is put`, async () => {
      const { version, put } = await pending(size)
      const same = noise(size)
      for (const bytes of [noise(size), same, same, noise(size), same]) await put(bytes)
      assert.equal(staged(version).length, 1)
      await Promise.all([noise(size), same, noise(size)].map(put))
      assert.ok(staged(version).length <= 1)
      await put(same)
      await put(same)
      const { versionId, slug } = version
      assert.equal((await api.anonymous.finalize(slug, { versionId })).success, true)
    })
  }

  test('and another file of the same bytes keeps its own', async () => {
    const size = 1000
    const { slug, upload } = await api.anonymous.create({ files: [named('a', size), named('b', size)] })
    const [a, b] = upload.uploads
    const same = noise(size)
    await api.anonymous.upload(a!, same)
    await api.anonymous.upload(b!, same)
    await api.anonymous.upload(a!, noise(size))
    const { versionId } = upload
    assert.equal((await api.anonymous.finalize(slug, { versionId })).success, true)
  })

  test('and nothing of what is put after finalize or after the end of the site', async () => {
    const { client } = await api.account()
    const finalized = await pending(1000)
    await finalized.put(noise(1000))
    await api.anonymous.finalize(finalized.version.slug, { versionId: finalized.version.versionId })
    await until(() => staged(finalized.version).length === 0)
    const deleted = await pending(1000, client)
    await client.delete(deleted.version.slug)
    for (const { version, put } of [finalized, deleted]) {
      for (let times = 0; times < 3; times++) await refused(put(noise(1000)), 'UPLOAD_EXPIRED')
      assert.deepEqual(staged(version), [])
    }
  })

  test('and none that a version brings which can never go live', async () => {
    const { client } = await api.account()
    const { slug, versionId: baseVersionId } = await api.publish(client, { 'a.bin': 'one' })
    const { upload } = await client.update(slug, { files: [named('a.bin', 1000)], baseVersionId })
    await api.publish(client, { 'a.bin': 'two' }, { slug })
    const before = settled()
    await client.upload(upload.uploads[0]!, noise(1000))
    await refused(client.finalize(slug, { versionId: upload.versionId }), 'VERSION_CONFLICT')
    assert.deepEqual(settled(), before)
  })
})

test('a file that is put while its version is finalized is late, not an error of the service', async () => {
  const { version, put } = await pending(300_000)
  await put(noise(300_000))
  let go = () => {}
  const held = new Promise<void>((resolve) => {
    go = resolve
  })
  async function* slowly() {
    yield noise(150_000)
    await held
    yield noise(150_000)
  }
  const late = put(slowly())
  await until(() => staged(version).length === 2)
  await api.anonymous.finalize(version.slug, { versionId: version.versionId })
  await until(() => staged(version).length === 0)
  go()
  await refused(late, 'UPLOAD_EXPIRED')
})

interface Pending {
  version: { slug: string; versionId: string }
  put(bytes: Bytes): Promise<unknown>
}

/** A new site with one file of that size, which is still to come. */
async function pending(size: number, client = api.anonymous): Promise<Pending> {
  const { slug, upload }: CreateAnswer = await client.create({ files: [named('a.bin', size)] })
  const [target] = upload.uploads
  return {
    version: { slug, versionId: upload.versionId },
    put: (bytes) => client.upload(target!, bytes, size),
  }
}

function named(path: string, size: number) {
  return { path, size, contentType: 'application/octet-stream' }
}

function staged({ versionId }: { versionId: string }): string[] {
  return globSync('*', { cwd: join(blobFolder(api), 'staged', versionId) })
}

function settled(): string[] {
  return globSync('??/*', { cwd: blobFolder(api) }).toSorted()
}

/** Sends these bytes and leaves the connection open, reading nothing. */
function send(bytes: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: api.port, host: '127.0.0.1' }, () => resolve(socket))
    socket.on('error', reject)
    socket.pause()
    socket.write(bytes)
  })
}

/** Resolves once it is so; fails the test when that takes five seconds. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 5000; !holds(); await turn()) assert.ok(Date.now() < end, String(holds))
}

function openBlobs(): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(blobFolder(api))
    } catch {
      return false
    }
  }).length
}
