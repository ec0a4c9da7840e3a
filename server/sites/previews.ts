import type { DeletePreviewResponse, Preview, PreviewList } from '../../protocol/api/previews.schema.ts'
import type { FinalizeResponse } from '../../protocol/api/publish.schema.ts'
import { requireAccess } from '../accounts/authorization.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { VersionHeader } from '../store/tables/versions.ts'
import { endPreview, isShown, previewNotFound, requirePreview } from './preview.ts'
import type { Versions } from './version-history.ts'

/** A publish moves the name to its version, and deletes the one that had it before. */
export class Previews extends Component<Pick<Parts, 'store' | 'clock'> & { versions: Versions }> {
  /** Previews that have not ended, the last changed one first. */
  async list(account: Account, slug: string): Promise<PreviewList> {
    return { slug, previews: await this.#list(account, slug, () => true) }
  }

  async details(account: Account, slug: string, name: string): Promise<Preview> {
    const [found] = await this.#list(account, slug, (version) => version.previewName === name)
    if (!found) throw previewNotFound()
    return found
  }

  /**
   * In one transaction and without uploading; the preview keeps showing the version. VERSION_CONFLICT when it shows
   * another one than `versionId`, APPROVAL_REQUIRED when the site requires an approval that its content lacks.
   */
  async promote(
    account: Account,
    slug: string,
    name: string,
    versionId: string | undefined,
  ): Promise<FinalizeResponse> {
    return this.parts.versions.restore(account, slug, async (queries) => {
      const { id } = await requirePreview(queries, { slug, name, now: this.parts.clock() })
      if (versionId !== undefined && versionId !== id)
        throw new ApiError('VERSION_CONFLICT', 'The preview shows another version by now', {
          details: { currentVersionId: id },
        })
      return id
    })
  }

  /** Also deletes its version unless that was ever live. */
  async remove(account: Account, slug: string, name: string): Promise<DeletePreviewResponse> {
    const { store, clock } = this.parts
    await store.write('durable', { site: slug }, async (tx) => {
      const now = clock()
      await requireAccess(tx, 'remove', { slug, account, now })
      const version = await requirePreview(tx, { slug, name, now })
      await endPreview(tx, version, { now, effect: 'withdrawn' })
    })
    return { slug, name, deleted: true }
  }

  async #list(
    account: Account,
    slug: string,
    isWanted: (version: VersionHeader) => boolean,
  ): Promise<Preview[]> {
    const { versions, clock } = this.parts
    const now = clock()
    const isListed = (version: VersionHeader) => isShown(version, now) && isWanted(version)
    const found = await versions.summarize(account, slug, isListed)
    return found.flatMap(({ preview, ...version }) => (preview ? { ...preview, ...version } : []))
  }
}
