import { type Action, useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { showToast } from '../kit/toast.tsx'

/** Duplicates a site and opens the copy. */
export function useDuplicate(slug: string): Action<[]> {
  const navigate = useGuardedNavigate()
  return useAction(async () => {
    const copy = await slipway.duplicate(slug)
    invalidate('sites')
    const isSeen = navigate(`/sites/${copy.slug}`)
    showToast(isSeen ? `This is the copy of ${slug}.` : `${slug} duplicated as ${copy.slug}.`)
  })
}

/** The URL that downloads a version as a zip, by default the live one. */
export function archiveUrl(slug: string, versionId?: string): string {
  const query = versionId === undefined ? '' : `&versionId=${versionId}`
  return `/api/v1/publish/${slug}/archive?format=zip${query}`
}
