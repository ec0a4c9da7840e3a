/** A site's address without the scheme. */
export function SiteLink({ siteUrl }: { siteUrl: string }) {
  return <a href={siteUrl}>{siteUrl.replace(/^https?:\/\/|\/$/g, '')}</a>
}
