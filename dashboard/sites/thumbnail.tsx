import { useState } from 'preact/hooks'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { toSameOrigin } from '../api/slipway.ts'

interface ThumbnailProps {
  site: Pick<SiteSummary, 'slug' | 'title' | 'thumbnailUrl' | 'iconUrl' | 'imageUrl'>
}

/** The picture of a site, else its icon, else the first letter of its title, which is beside it. */
export function Thumbnail({ site }: ThumbnailProps) {
  const { slug, title, thumbnailUrl, iconUrl, imageUrl } = site
  const [broken, setBroken] = useState<readonly string[]>([])
  const url = [thumbnailUrl, iconUrl, imageUrl].find((one) => one !== null && !broken.includes(one))
  if (!url) return <div class="thumbnail letter">{firstLetter(title ?? slug)}</div>
  return (
    <div class={`thumbnail ${url === thumbnailUrl ? 'start-page' : url === iconUrl ? 'icon' : ''}`}>
      <img
        src={toSameOrigin(url)}
        alt=""
        loading="lazy"
        decoding="async"
        referrerpolicy="no-referrer"
        onError={() => setBroken([...broken, url])}
      />
    </div>
  )
}

function firstLetter(text: string): string {
  return /[\p{L}\p{N}]/u.exec(text)?.[0].toUpperCase() ?? ''
}
