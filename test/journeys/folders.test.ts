import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { describeExclusion } from '../../protocol/publish-story.ts'
import { sha256 } from '../api/content.ts'
import { expectation, ODD_FOLDERS, type OddFolder, WAYS, type Way, writeFolder } from '../cases/folders.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { requires } from '../tools/part.ts'
import { FolderPublisher, PackedFolder } from './folder-publisher.ts'

describe('one folder is one site', requires('chromium', 'archivers', 'busybox'), () => {
  const publisher = startForAllTests(() => FolderPublisher.start())

  const alone = ODD_FOLDERS.filter(({ isTop, isLong }) => isTop && (ALL_VARIANTS || !isLong))
  const shared = ODD_FOLDERS.filter(({ isTop }) => !isTop)
  for (const rows of [shared, ...alone.map((row) => [row])])
    it(`with ${rows.map(({ what }) => what).join(', ')}: the same files, names, exclusions and words by every way`, async () => {
      using folder = new PackedFolder()
      writeFolder(folder.path, rows)
      const failures: string[] = []
      for (const way of waysOf(rows)) {
        await assertWay(way, folder, rows).catch((error: Error) => {
          failures.push(`${way}: ${error.message}`)
        })
      }
      assert.equal(failures.join('\n\n'), '')
    })

  async function assertWay(way: Way, folder: PackedFolder, rows: OddFolder[]): Promise<void> {
    const { files, excluded, notes, refused } = expectation(rows, way)
    const { publish, service } = publisher
    service.clock.now++
    if (refused) {
      const before = await publisher.stored(way)
      const error = await publish[way](folder).then(({ siteUrl }) => assert.fail(siteUrl), messageOf)
      assert.match(error, refused)
      const surplus = (await publisher.stored(way)).difference(before)
      assert.deepEqual([...surplus], [], 'a refused folder leaves nothing')
      return
    }
    const outcome = await publish[way](folder)
    const site = await publisher.details(outcome.siteUrl)
    assertSameLines(
      site.files.map(({ path, hash }) => `${path} ${hash}`),
      [...files].map(([path, content]) => `${normalizeNfc(path)} ${sha256(content)}`),
    )
    const left = [...excluded].map(([path, reason]) => ({ path, reason }))
    if (outcome.excluded) assertSameLines(toLines(outcome.excluded), toLines(left))
    assertSkipped(outcome.text, left)
    for (const note of notes) assert.ok(outcome.text.includes(note), `${note} in ${outcome.text}`)
  }
})

/** One way of each kind, for the rows that need a folder of their own; `npm run nightly` tries every way. */
const READERS: Way[] = ['command', 'publish.sh', 'tar', 'zip', 'inline', 'drop']

/** Those that refuse a folder, as does the browser in test/dashboard/drop. */
const REFUSING: Way[] = ['command', 'tar', 'zip', 'inline']

function waysOf(rows: OddFolder[]): readonly Way[] {
  if (ALL_VARIANTS || rows.length > 1) return WAYS
  return rows.some(({ refused }) => refused) ? REFUSING : READERS
}

function messageOf(error: Error & { stderr?: string }): string {
  return error instanceof SlipwayError
    ? `${error.message} ${JSON.stringify(error.details)}`
    : (error.stderr ?? error.message)
}

function toLines(excluded: readonly Exclusion[]): string[] {
  return excluded.map(({ path, reason }) => `${normalizeNfc(path)} ${reason}`)
}

/** Compares lists in any order; an error has only the differences. */
function assertSameLines(actual: string[], expected: string[]): void {
  const without = (some: string[], others: string[]) => some.filter((line) => !others.includes(line))
  assert.deepEqual(
    { missing: without(expected, actual), surplus: without(actual, expected), count: actual.length },
    { missing: [], surplus: [], count: expected.length },
  )
}

/** Compares what the lines of a text list, which may be only the first paths of each. */
function assertSkipped(text: string, excluded: readonly Exclusion[]): void {
  const lines = [...text.matchAll(/Skipped (\d+) files?: (.*?)(?: and \d+ (?:more|others?).*)?$/gm)]
  const count = lines.reduce((sum, [, number]) => sum + Number(number), 0)
  const listed = lines.flatMap(([, , paths = '']) => paths.split(', '))
  const expected = excluded.map(describeExclusion)
  assert.deepEqual(
    { count, surplus: listed.filter((path) => !expected.includes(path)) },
    { count: expected.length, surplus: [] },
  )
}
