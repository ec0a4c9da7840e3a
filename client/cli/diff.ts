import { diffManifests } from '../../protocol/manifest/manifest-diff.ts'
import { openSite } from './account.ts'
import { UsageError } from './cli-error.ts'
import { type Command, printResult, SECRETS_OPTION, SITE_OPTIONS, stringOption } from './command.ts'
import { readFiles, scanOrThrow } from './folder/read-site.ts'
import { chooseFolder } from './publish-folder.ts'
import { namedServer } from './server.ts'
import { resolveVersionOrLive } from './version-id.ts'

/** `slipway diff [folder]` */
export const diff: Command = {
  name: 'diff',
  operands: '[folder]',
  readsFolder: true,
  summary: 'Compare a folder with its live site',
  about: `
Lists the files that differ between a folder and the live version, or another one: A for those that only the folder
has, M for different contents, D for those that only the site has. With --with, compares two saved versions, and reads no
folder. Nothing is published.`,
  options: {
    with: { type: 'string', value: 'ID', help: 'Compare with this saved version in place of a folder' },
    version: { type: 'string', value: 'ID', help: 'Another saved version; the start of its id is enough' },
    'include-secrets': SECRETS_OPTION,
    ...SITE_OPTIONS,
  },
  async run(work, options, [operand]) {
    const { terminal, siteMemory, settings } = work
    const typedOther = stringOption(options, 'with')
    if (typedOther !== undefined && operand !== undefined)
      throw new UsageError('--with compares two saved versions, without a folder')
    const folder = typedOther === undefined ? await chooseFolder(work, options, operand) : work.cwd
    const remembered = siteMemory.find(folder, namedServer(stringOption(options, 'server'), settings))
    // By its folder, so that one that only the state of the folder names is a question.
    const { slug, slipway } = await openSite(work, { site: remembered && folder, ...options })
    const typed = stringOption(options, 'version')
    const versionId = await resolveVersionOrLive(work, slipway, { slug, typed })
    const readOther = async () => {
      if (typedOther === undefined)
        return readFiles(work, scanOrThrow(folder, { secrets: options['include-secrets'] === true }).files)
      const otherId = await resolveVersionOrLive(work, slipway, { slug, typed: typedOther })
      return (await slipway.version(slug, otherId)).files
    }
    const [{ slug: current, files }, other] = await Promise.all([
      slipway.version(slug, versionId),
      readOther(),
    ])
    const changes = diffManifests(files, other)
    printResult(work, options, { slug: current, versionId, ...changes }, () => {
      const { added, changed, removed } = changes
      const lines = Object.entries({ A: added, M: changed, D: removed }).flatMap(([letter, paths]) =>
        paths.map((path) => `${letter} ${path}`),
      )
      for (const line of lines) terminal.print(line)
      if (lines.length === 0) terminal.printNote('No differences.')
    })
  },
}
