import { formatNumber, pluralize } from '../../protocol/format.ts'
import { removesMuch } from '../../protocol/manifest/removal.ts'
import type { StagedVersion } from '../sdk/publish.ts'
import { RefusedError, UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { choose } from './terminal/choose.ts'

/** Ends the publish of a version that would replace the site, in favor of one that adds the files to it. */
export class MergeInstead extends Error {}

/**
 * Asks before a version goes live that removes the start page or more than half of the files of the site. Throws
 * MergeInstead when the files are to be added; a RefusedError on cancel, or a UsageError without a terminal.
 */
export async function confirmReplacement(
  { terminal }: Pick<CommandContext, 'terminal'>,
  { siteUrl, removal }: Pick<StagedVersion, 'siteUrl' | 'removal'>,
  fileCount: number,
): Promise<void> {
  if (!removal || !removesMuch(removal)) return
  const { files, liveFiles, index } = removal
  const lost = `${formatNumber(files)} of the ${pluralize(liveFiles, 'file')}`
  const situation = `This update removes ${lost} of ${siteUrl}${index ? ', including index.html' : ''}`
  if (!terminal.interactive) {
    const hints = ['To add the files to the site: --merge', 'To replace everything: --replace']
    throw new UsageError(situation, ...hints)
  }
  const question = `Replace all ${pluralize(liveFiles, 'file')} with ${formatNumber(fileCount)}?`
  const chosen = await choose(terminal, `${situation}. ${question}`, [
    ['add', 'Add to the site'],
    ['replace', 'Replace everything'],
    ['cancel', 'Cancel'],
  ])
  if (chosen === 'cancel') throw new RefusedError('Nothing was published')
  if (chosen === 'add') throw new MergeInstead()
}
