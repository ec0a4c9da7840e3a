import type { ApprovalRule, MetadataRequest } from '../../protocol/api/sites.schema.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { openSite } from './account.ts'
import { RefusedError } from './cli-error.ts'
import { type Command, printResult, SITE_OPTIONS, stringOption } from './command.ts'
import { formatMetadata, METADATA_OPTIONS, readMetadata, readPassword } from './metadata-options.ts'
import { assertRenamable, NAME_OPTION, renameSite } from './site-name.ts'
import { formatTable } from './terminal/table.ts'

/** `slipway settings` */
export const settings: Command = {
  name: 'settings',
  operands: '',
  summary: 'Show or change the settings of a site',
  about: `
Changes settings of a site without publishing it again. Without options it shows them.`,
  options: {
    name: NAME_OPTION,
    ...METADATA_OPTIONS,
    'require-approval': {
      type: 'string',
      value: 'WHO',
      help: 'Promote a preview only after an approval of exactly its content by anyone, or by collaborators; off ends it',
    },
    ...SITE_OPTIONS,
  },
  async run(work, options) {
    const metadata = readMetadata(options)
    const password = await readPassword(work, options)
    const requireApproval = stringOption(options, 'require-approval') as ApprovalRule | undefined
    const change: MetadataRequest = {
      ...metadata,
      ...(requireApproval !== undefined && { requireApproval }),
      ...(password !== undefined && { password }),
    }
    const { slipway, ...site } = await openSite(work, options)
    const name = stringOption(options, 'name')
    const isChange = Object.keys(change).length > 0
    if (isChange && name !== undefined) await assertOwnRenamable(slipway, site.slug, name)
    // First: a change that is refused would leave the site with a new name, of which a day has few.
    const changed = isChange ? await slipway.setMetadata(site.slug, change) : undefined
    if (isChange) work.terminal.printDone('Saved')
    const rename = async (name: string) => {
      try {
        return await renameSite(work, slipway, { ...site, name })
      } catch (error) {
        if (isChange) work.terminal.printNote('Only --name failed: the other settings are saved.')
        throw error
      }
    }
    const slug = name === undefined ? site.slug : await rename(name)
    const details = changed && slug === site.slug ? changed : await slipway.details(slug)
    const { files: _, ...shown } = details
    printResult(work, options, shown, () => {
      work.terminal.printRows(() =>
        formatTable([
          ['URL', details.siteUrl],
          ...formatMetadata(details, work.retryPolicy.now()),
          ['Password', details.hasPassword ? 'On' : 'Off'],
          ['Approval', details.requireApproval === 'off' ? 'Not required' : `By ${details.requireApproval}`],
        ]),
      )
    })
  },
}

/** Before anything is changed. */
async function assertOwnRenamable(slipway: Slipway, named: string, name: string): Promise<void> {
  const { slug, role } = await slipway.details(named)
  if (role === 'collaborator') throw new RefusedError(`Only the owner of ${slug} can use --name`)
  await assertRenamable(slipway, slug, name)
}
