// What a tenant's numbers mean, in words. Pure.
import type { ListedTenant } from '../../../lib/tenants/tenant'
import { count } from '../../_ui/words'

/** From here on somebody should ask whether the cap is right. */
export const NEAR_CAP = 0.8

export const shareOf = ({ liveKeyCount, liveKeyCap }: Pick<ListedTenant, 'liveKeyCount' | 'liveKeyCap'>): number =>
  liveKeyCap === 0 ? 1 : liveKeyCount / liveKeyCap

export function retentionWords(hours: number | null): string {
  if (hours === null) return 'as the endpoint'
  if (hours >= 48 && hours % 24 === 0) return `${count(hours / 24)} d`
  return hours < 1 ? `${Number((hours * 60).toPrecision(3))} min` : `${Number(hours.toPrecision(6))} h`
}
