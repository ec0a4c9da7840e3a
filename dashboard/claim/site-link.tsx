/** A site's address, as people write it. */
export function SiteLink({ siteUrl }: { siteUrl: string }) {
  return <a href={siteUrl}>{siteUrl.replace(/^https?:\/\/|\/$/g, '')}</a>
}
