import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseEnv } from 'node:util'
import { readConfig } from '../../server/config/settings.ts'
import { readSettingsFiles } from '../../server/config/settings-file.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'

const MEANT = 'Did you mean SLIPWAY_NAME? All settings: slipway-server settings'

/** Texts of a file, and the lines that refuse it, without its path. */
const REFUSED: [what: string, text: string | Buffer, lines: string[]][] = [
  [
    'a misspelled name',
    'SLIPWAY_PORT=0\nSLIPWAY_NAMES=Sites\n',
    [`SLIPWAY_NAMES is not a setting. ${MEANT} (FILE, line 2)`],
  ],
  [
    'a value with a wrong unit',
    '# Limits\n\nexport SLIPWAY_DRAIN_SECONDS=30 parsecs\r\n',
    [
      'SLIPWAY_DRAIN_SECONDS="30 parsecs" is not allowed: it must be a duration from 0 to 1h, such as 90s, 30m, 24h or 30d (FILE, line 3)',
    ],
  ],
  [
    'a name that is set twice',
    'SLIPWAY_NAME=One\nSLIPWAY_PORT=0\nSLIPWAY_NAME=Two\n',
    ['FILE, line 3: SLIPWAY_NAME is set in line 1 already'],
  ],
  ['a line without =', 'SLIPWAY_HOST localhost\n', ['FILE, line 1: it is neither NAME=value nor a comment']],
  [
    'a quote that is not closed in its line',
    'SLIPWAY_NAME="Sites\nSLIPWAY_PLAN_FREE="First"\n',
    ['FILE, line 1: the quote of SLIPWAY_NAME is not closed'],
  ],
  [
    'a value with # that is not quoted',
    'SLIPWAY_COLOR=#0b5a75\nSLIPWAY_SECRET=abc#0123456789012345678901234567890\n',
    ['SLIPWAY_COLOR', 'SLIPWAY_SECRET'].map(
      (name, index) => `FILE, line ${index + 1}: ${name} ends before the # of its value: quote the value`,
    ),
  ],
  [
    'a byte order mark',
    '\ufeffSLIPWAY_NAME=Sites\n',
    ['FILE must be UTF-8 without a byte order mark: save it as that'],
  ],
  [
    'another encoding',
    Buffer.from('\ufeffSLIPWAY_NAME=Sites\n', 'utf16le'),
    ['FILE must be UTF-8 without a byte order mark: save it as that'],
  ],
]

const ACCEPTED = `# Comment
SLIPWAY_NAME = 'Sites # 1'\t# quoted\r
SLIPWAY_COLOR="#0b5a75"
SLIPWAY_PLAN_FREE=First plan # not quoted
SLIPWAY_PLANS='{
  "team": { "name": "Team" }
}'
OTHER=1
`

describe('a settings file', () => {
  const opened = new AsyncDisposableStack()
  let path: string
  before(async () => {
    path = join(opened.use(await memoryFolder()).path, 'slipway.env')
  })
  after(() => opened.disposeAsync())

  async function read(text: string | Buffer) {
    await writeFile(path, text)
    return readConfig(parseEnv(text.toString()), readSettingsFiles([`--env-file-if-exists=${path}`]))
  }

  for (const [what, text, lines] of REFUSED)
    test(`with ${what} is refused with the line`, async () => {
      await assert.rejects(read(text), ({ message }: Error) => {
        for (const line of lines) assert.ok(message.split('\n').includes(line.replace('FILE', path)), message)
        return true
      })
    })

  test('can have quotes, comments, values of several lines, and line ends of Windows', async () => {
    const { serviceName, color, planFree, plans } = await read(ACCEPTED)
    assert.deepEqual([serviceName, color, planFree], ['Sites # 1', '#0b5a75', 'First plan'])
    assert.equal(plans.team?.name, 'Team')
  })

  test('is named by a check only for values that it sets', async () => {
    await writeFile(path, 'SLIPWAY_PORT=eighty\nSLIPWAY_WORKERS=0\n')
    const options = { args: ['check'], nodeArgs: [`--env-file=${path}`] }
    const { code, lines } = await Program.start({ PORT: 'ninety' }, options).ended
    assert.equal(code, 1)
    assert.match(lines[0]!, /SLIPWAY_PORT="ninety" is not allowed: [^(]+$/)
    assert.match(lines[1]!, new RegExp(`SLIPWAY_WORKERS="0" is not allowed: .* \\(${path}, line 2\\)$`))
  })
})
