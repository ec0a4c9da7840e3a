import assert from 'node:assert/strict'
import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { publishFolder } from '../../client/sdk/node.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { CliHarness } from './cli-harness.ts'

const SETTINGS = { ANONYMOUS_FILES: '1100', FILES: '1200', RATE_ANONYMOUS: '5' }

describe('a folder beyond the limits of its caller is refused before it is read, with the limit of the server', () => {
  let service: RunningService
  let key: string
  before(async () => {
    service = await startTestService(SETTINGS)
    key = await service.signIn('ann@example.test')
  })
  after(() => service[Symbol.asyncDispose]())

  /** Reading a hole of a terabyte would take minutes. */
  const HUGE = { 'huge.bin': 1e12 }
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`img/${at}.txt`, 1]))
  const refused: [title: string, sizes: Record<string, number>, isOwned: boolean, sentences: string[]][] = [
    ['1,101 files', many(1101), false, ['1,101 files. The limit is 1,100 per site (img/ has 1,101).']],
    [
      '1,201 files, with a key',
      many(1201),
      true,
      ['1,201 files. The limit is 1,200 per site (img/ has 1,201).'],
    ],
    [
      'a large file',
      HUGE,
      false,
      ['huge.bin: 1.0 TB. The limit is 262 MB per file.', '1.0 TB in total. The limit is 1 GB per site.'],
    ],
    [
      'a large file, with a key',
      HUGE,
      true,
      ['huge.bin: 1.0 TB. The limit is 5.3 GB per file.', '1.0 TB in total. The limit is 10 GB per site.'],
    ],
  ]
  for (const [title, sizes, isOwned, sentences] of refused) {
    it(title, async () => {
      using cli = new CliHarness()
      cli.env = { SLIPWAY_URL: service.baseUrl, ...(isOwned && { SLIPWAY_KEY: key }) }
      fill(cli, sizes)
      for (const options of [[], ['--dry-run'], ['--json']]) {
        const { code, stderr } = await cli.run(['publish', '.', ...options])
        assert.equal(code, 6, stderr)
        for (const sentence of sentences) assert.ok(stderr.includes(sentence), stderr)
      }
      const published = publishFolder(service.client(isOwned ? key : undefined), cli.cwd)
      const details = sentences.map((message) => ({ field: 'files', message }))
      await assert.rejects(published, { code: 'VALIDATION_ERROR', message: sentences[0], details })
    })
  }

  it('and one that the limits of its caller allow is published, whatever those of others are', async () => {
    using cli = new CliHarness()
    cli.env = { SLIPWAY_URL: service.baseUrl, SLIPWAY_KEY: key }
    fill(cli, many(1150))
    const { code, stderr } = await cli.run(['publish', '.'])
    assert.equal(code, 0, stderr)
  })

  it('and asking costs no request, but is limited as messages to /mcp are', async () => {
    const ask = () => sendRequest(service.port, { path: '/api/v1/limits' })
    let asked = 0
    let answer = await ask()
    for (; answer.status === 200 && asked < 101; answer = await ask()) asked++
    assert.ok(asked > 50 && asked <= 100, `${asked}`)
    assert.deepEqual([answer.status, answer.headers['x-ratelimit-remaining']], [429, '5'])
  })
})

function fill(cli: CliHarness, sizes: Record<string, number>): void {
  cli.write(Object.fromEntries(Object.keys(sizes).map((path) => [path, 'x'])))
  for (const [path, size] of Object.entries(sizes)) truncateSync(join(cli.cwd, path), size)
}
