import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startRealCli } from './real-cli.ts'

describe('publishing a folder again', () => {
  it('without a change creates no version and exits with 0', async () => {
    await using fixture = await startRealCli({ 'site/index.html': 'x', 'site/style.css': 'y' })
    const { cli } = fixture
    const client = await fixture.signIn()
    const first = await cli.run(['publish', 'site'])
    const second = await cli.run(['publish', 'site'])
    assert.deepEqual([second.code, second.stdout], [0, first.stdout])
    assert.match(second.stderr, /^✓ No changes\. Already live\.$/m)
    const json = JSON.parse((await cli.run(['publish', 'site', '--json'])).stdout)
    assert.equal(json.unchanged, true)
    assert.equal((await client.versions(json.slug)).versions.length, 1)
  })

  it('with a new title only creates a version', async () => {
    await using fixture = await startRealCli({ 'site/index.html': 'x' })
    const { cli } = fixture
    await fixture.signIn()
    await cli.run(['publish', 'site'])
    const { stderr } = await cli.run(['publish', 'site', '--title', 'New'])
    assert.match(stderr, /Published 1 file /)
  })
})
