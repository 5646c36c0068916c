#include "ops/direct/direct_s3.h"

#include "ops/http/s3_provider.h"

void liquid_direct_s3_provider(LiquidS3Provider provider) {
  liquid::SetS3Provider(provider);
}
