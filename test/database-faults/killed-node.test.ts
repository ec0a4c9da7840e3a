import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { Program, type Settings, signal } from '../operator/program.ts'
import { manifest, Publisher } from '../operator/publisher.ts'
import { postgresServer } from '../store/postgres-server.ts'
import { sendRequest } from '../support/http-client.ts'
import { anySeed, Random } from '../support/random.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'

const KILLS = 3
const PATHS = ['index.html', 'other.html']

/** Requests within which another node, which polls for changes, shows one version. */
const MAX_REQUESTS = 5000

test(
  'a node that is killed at any statement of a publish leaves it finished or absent on others, and it can be repeated',
  requires('postgres'),
  async (t) => {
    const seed = anySeed()
    t.diagnostic(`seed ${seed}`)
    const random = new Random(seed)
    await using stack = new AsyncDisposableStack()
    const server = await postgresServer()
    const url = new URL(await server.createDatabase())
    const proxy = stack.use(await TcpProxy.open(server.port))
    const port = await freePort()
    const settings: Settings = {
      SECRET: 'a secret of all nodes of this test',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${port}`,
      DATA: stack.use(await memoryFolder()).path,
    }
    const otherPort = await freePort()
    stack.use(await Program.serve({ ...settings, DATABASE_URL: url.href, PORT: `${otherPort}` }))
    url.port = `${proxy.port}`
    const start = () => Program.serve({ ...settings, DATABASE_URL: url.href, PORT: `${port}` })
    let node = await start()
    stack.defer(() => node[Symbol.asyncDispose]())
    const publisher = stack.use(new Publisher(node))
    const files = (generation: string) => Object.fromEntries(PATHS.map((path) => [path, generation]))
    const { slug, versionId, claimToken } = await publisher.stage(files('0'))
    await publisher.client.finalize(slug, { versionId })

    const publish = async (generation: string) => {
      const { upload } = await publisher.client.update(slug, {
        files: manifest(files(generation)),
        claimToken: claimToken!,
      })
      for (const target of upload.uploads) await publisher.client.upload(target, Buffer.from(generation))
      await publisher.client.finalize(slug, { versionId: upload.versionId, claimToken: claimToken! })
    }
    /** Resolves with the generation of all files, when the other node shows one of these. */
    const untilShown = async (generations: string[]) => {
      for (let requests = 0; requests < MAX_REQUESTS; requests++) {
        const texts = await Promise.all(
          PATHS.map(async (path) => (await sendRequest(otherPort, { site: slug, path: `/${path}` })).text),
        )
        if (new Set(texts).size === 1 && generations.includes(texts[0]!)) return texts[0]!
      }
      throw new Error(`the other node shows none of ${generations}`)
    }

    let statements = 0
    proxy.onBytes = (direction, bytes) => {
      if (direction === 'toServer' && !bytes.includes('pg_current_snapshot')) statements++
    }
    await publish('1')
    await untilShown(['1'])
    let shown = '1'
    for (let kill = 1; kill <= KILLS; kill++) {
      const killAt = random.between(1, statements)
      let count = 0
      proxy.onBytes = (direction, bytes) => {
        if (direction !== 'toServer' || bytes.includes('pg_current_snapshot') || ++count !== killAt) return
        signal(node.pid, 'SIGKILL')
      }
      const generation = `${kill + 1}`
      const isAcknowledged = await publish(generation).then(
        () => true,
        (error: unknown) => {
          assert.ok(isSlipwayError(error, 'NETWORK'), `${error}`)
          return false
        },
      )
      proxy.onBytes = undefined
      signal(node.pid, 'SIGKILL')
      await node.ended
      shown = await untilShown(isAcknowledged ? [generation] : [shown, generation])
      t.diagnostic(
        `killed at statement ${killAt} of ${statements}: ${shown === generation ? 'finished' : 'absent'}`,
      )
      node = await start()
      await publish(generation)
      shown = await untilShown([generation])
    }
  },
)
