import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Api, blobFolder } from './api/api.ts'
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
